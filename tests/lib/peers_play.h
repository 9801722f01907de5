/* SPDX-License-Identifier: MIT */
/*
 * Processes that find each other without a daemon (shim/links/peers.h). Each is a separate process
 * with the agent in it, on the mocked driver. The functions of shim/hold.h are stubs here that only
 * record whether the process would be held. Include it once in a program.
 */
#ifndef KFDSHIM_TESTS_PEERS_PLAY_H
#define KFDSHIM_TESTS_PEERS_PLAY_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel/protocol.h"
#include "kfd/uapi.h"
#include "shim/hold.h"
#include "tests/lib/mock_kfd.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define OTHER_GPU 777

/* ---- stubs of hold.c ---- */

/* `held`: on hold for a peer. The counters: calls of hold_hand_over(), the error that hold_set()
 * returns, attempts to hold, holds, and releases. `hold_cost_us`: duration of a hold or a
 * release. */
static bool held;
static _Atomic int handed_over, hold_error, tries, takes, releases;
static _Atomic unsigned hold_cost_us;
static enum client_shm_level expected_level = CLIENT_SHM_LEVEL_SELF;

static inline bool is_held(void)
{
	return __atomic_load_n(&held, __ATOMIC_SEQ_CST);
}

int hold_set(enum hold_by by, enum client_shm_level level, bool hold)
{
	if (by != HOLD_BY_PEERS)
		return 0;
	CHECK(level == expected_level);
	__atomic_add_fetch(&tries, hold, __ATOMIC_SEQ_CST);
	if (hold && hold_error)
		return hold_error;
	if (hold != held && hold_cost_us)
		fake_sleep_us(hold_cost_us);
	__atomic_add_fetch(&takes, !held && hold, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&releases, held && !hold, __ATOMIC_SEQ_CST);
	__atomic_store_n(&held, hold, __ATOMIC_SEQ_CST);
	return 0;
}

void hold_renew(enum hold_by by)
{
	(void)by;
}

uint64_t hold_step(uint64_t now_ns)
{
	(void)now_ns;
	return UINT64_MAX;
}

int hold_prepare(enum client_shm_level level)
{
	(void)level;
	return 0;
}

void hold_hand_over(void)
{
	CHECK(!is_held());
	handed_over++;
}

bool hold_stands(void)
{
	return is_held();
}

int hold_lost(enum hold_by by)
{
	(void)by;
	return 0;
}

void hold_device(const struct kfdshim_preload_iface *host, int fd)
{
	(void)host;
	(void)fd;
}

void hold_runtime_on(const struct kfdshim_preload_iface *host, int fd)
{
	(void)host;
	(void)fd;
}

void hold_runtime_off(void)
{
}

void hold_leave_begin(void)
{
}

void hold_leave_end(void)
{
}

void hold_queue_created(void)
{
}

void hold_forget(void)
{
	held = false;
}

/* ---- the processes ---- */

static char runtime_dir[64], directory[80];

/* A process that plays a peer: its pid, and the pipes to it and from it. */
struct process {
	pid_t pid;
	int to, from;
};

static struct fake_queue queue;
static struct fake_signal last;

/* Becomes a process of that priority and group, with one AQL queue on node `gpu` (0: FAKE_GPU). */
static inline void be(const char *priority, const char *group, int gpu)
{
	setenv("KFDSHIM_PRIORITY", priority, 1);
	setenv("KFDSHIM_GROUP", group, 1);
	fake_start();
	fake.other_gpu = gpu;
	last.kind = 1;
	CHECK(fake_queue_create(&queue, AQL) == 0);
}

/* Submits a dispatch and rings the doorbell. */
static inline void work(void)
{
	fake_ring(&queue, &last);
}

/* Completes the dispatch of work(). */
static inline void finish(void)
{
	fake_drain(&queue);
	fake_waited(&last);
}

static inline void prefer(int priority)
{
	fake.app_settings.priority = priority;
	fake.agent->app_settings_changed();
}

static inline void request(bool begins)
{
	__atomic_add_fetch(&fake.app_settings.requests, begins ? 1 : -1, __ATOMIC_SEQ_CST);
	fake.agent->app_settings_changed();
}

/* Executes commands of one byte, and replies with the same byte after each: 'w' work(), 'f'
 * finish(), 'o' change to the offline priority, 'b' and 'e' begin and end a request, 'd' destroy
 * the queue, 'x' execute the program again, 'q' end the process. */
static inline void obey(int from, int to, char **argv)
{
	char word;

	while (read(from, &word, 1) == 1 && word != 'q') {
		if (word == 'w')
			work();
		else if (word == 'f')
			finish();
		else if (word == 'o')
			prefer(PRIORITY_OFFLINE);
		else if (word == 'b' || word == 'e')
			request(word == 'b');
		else if (word == 'd')
			CHECK(fake_queue_destroy(&queue) == 0);
		else if (word == 'x') /* the new program replies */
			execv("/proc/self/exe", argv);
		CHECK(write(to, &word, 1) == 1);
	}
	_exit(0);
}

/* File descriptors of the pipes in a process that plays a peer. */
enum { PLAY_FROM = 100, PLAY_TO };

/* Starts a process that plays a peer and waits until it has created its queue. It executes the
 * program again, because after fork() from a process with threads the sanitizer's locks may be held
 * for ever. */
static inline struct process start(const char *priority, const char *group, int gpu)
{
	int in[2], out[2];
	char word, other_gpu[16];
	struct process p;

	snprintf(other_gpu, sizeof(other_gpu), "%d", gpu);
	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	p.pid = fork();
	if (p.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(in[0], PLAY_FROM) == PLAY_FROM && dup2(out[1], PLAY_TO) == PLAY_TO)
			execl("/proc/self/exe", "peer", priority, group, other_gpu, (char *)NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	p.to = in[1];
	p.from = out[0];
	CHECK(read(p.from, &word, 1) == 1);
	return p;
}

/* To be called first in main(): runs the process of start(). Returns if the program was started
 * normally. */
static inline void play(int argc, char **argv)
{
	if (argc != 4)
		return;
	be(argv[1], argv[2], atoi(argv[3]));
	CHECK(write(PLAY_TO, "s", 1) == 1);
	obey(PLAY_FROM, PLAY_TO, argv);
}

/* Sends a command (see obey()) and waits for its reply. */
static inline void send_word(struct process *p, char word)
{
	CHECK(write(p->to, &word, 1) == 1 && read(p->from, &word, 1) == 1);
}

/* Returns the number of files in the directory of peers whose name ends with `end`. */
static inline int files_count(const char *end)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	size_t n;
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		n = strlen(entry->d_name);
		count += n > strlen(end) && strcmp(entry->d_name + n - strlen(end), end) == 0;
	}
	if (dir)
		closedir(dir);
	return count;
}

/* Returns how often the agent's thread of this process has slept. */
static inline unsigned long agent_sleeps(void)
{
	DIR *dir = opendir("/proc/self/task");
	char path[300], line[128];
	unsigned long n = 0;
	struct dirent *entry;
	bool is_agent;
	FILE *f;

	CHECK(dir != NULL);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		f = fopen(path, "r");
		is_agent =
			f && fgets(line, sizeof(line), f) && strcmp(line, "Name:\tkfdshim\n") == 0;
		while (is_agent && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
				break;
		if (f)
			fclose(f);
	}
	closedir(dir);
	CHECK(n > 0);
	return n;
}

/* Ends a process with `signal`, or with the command 'q' if it is 0. */
static inline void end(struct process *p, int signal)
{
	int status;

	if (signal)
		kill(p->pid, signal);
	else
		CHECK(write(p->to, "q", 1) == 1);
	close(p->to);
	close(p->from);
	CHECK(waitpid(p->pid, &status, 0) == p->pid);
}

/* Creates an empty runtime directory, and sets the environment so that no daemon is found. */
static inline void prepare(void)
{
	strcpy(runtime_dir, "/tmp/kfdshim-peers-XXXXXX");
	CHECK(mkdtemp(runtime_dir) != NULL);
	snprintf(directory, sizeof(directory), "%s/kfdshim", runtime_dir);
	setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
}

static inline void clean(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", runtime_dir);
	CHECK(system(command) == 0);
}

/* Asserts that this process is not held for 150 ms. */
static inline void never_held(void)
{
	for (int i = 0; i < 30; i++) {
		CHECK(!is_held());
		fake_sleep_us(5000);
	}
}

/* Asserts, `times` times, that this process is held when `other` starts work, and released when
 * `other` has finished it. */
static inline void held_while_it_works(struct process *other, int times)
{
	for (int i = 0; i < times; i++) {
		send_word(other, 'w');
		EVENTUALLY(is_held(), 1000);
		send_word(other, 'f');
		EVENTUALLY(!is_held(), 1000);
	}
}

#endif
