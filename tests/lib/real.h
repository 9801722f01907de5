/* SPDX-License-Identifier: MIT */
/*
 * Fixture of tests that act as clients of the real daemon ($BUILD/kfdschedd). The daemon runs in a
 * temporary directory and writes its log to a file there. Include it after cmocka.h.
 */
#ifndef KFDSHIM_TESTS_LIB_REAL_H
#define KFDSHIM_TESTS_LIB_REAL_H

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "common/clock.h"

#define REPLY_BYTES (64u << 20)

/* Directory, socket, log file and process of the running daemon; pid of its worker. */
static char directory[] = "/tmp/kfdschedd-real-XXXXXX";
static char path[64], log_file[64];
static pid_t daemon_pid;
static json_int_t worker;

static inline void sleep_ms(long ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static inline struct protocol_hello hello_of(uint32_t kind, int priority)
{
	return (struct protocol_hello){.magic = PROTOCOL_MAGIC,
				       .version = PROTOCOL_VERSION,
				       .kind = kind,
				       .priority = priority};
}

/* Returns a connection to the daemon; retries for 10 s, then fails the test. */
static inline int connect_daemon(void)
{
	int fd = -1;

	for (int i = 0; i < 1000 && (fd = protocol_connect(path)) < 0; i++)
		sleep_ms(10);
	assert_true(fd >= 0);
	return fd;
}

/* Returns the daemon's state (pid 0), or all of process `pid`. The caller owns the object. Returns
 * NULL without a reply within 5 s. */
static inline json_t *query_of(int pid)
{
	struct protocol_hello hello = hello_of(PROTOCOL_QUERY, PRIORITY_UNSET);
	json_t *state = NULL;
	int fd = connect_daemon();
	char *text;

	hello.pid = pid;
	assert_int_equal(protocol_send(fd, &hello, sizeof(hello), NULL, 0), 0);
	if (protocol_receive_text(fd, &text, REPLY_BYTES, 5000) == 0 && text)
		state = json_loads(text, 0, NULL);
	free(text);
	close(fd);
	return state;
}

static inline json_t *query(void)
{
	return query_of(0);
}

/* Returns the number `key` of the object `group` in the daemon's state. */
static inline json_int_t query_number(const char *group, const char *key)
{
	json_t *state = query();
	json_int_t value;

	assert_non_null(state);
	value = json_integer_value(json_object_get(json_object_get(state, group), key));
	json_decref(state);
	return value;
}

static inline json_int_t query_worker(void)
{
	return query_number("daemon", "worker_pid");
}

static inline size_t process_count(void)
{
	json_t *state = query();
	size_t n;

	assert_non_null(state);
	n = json_array_size(json_object_get(state, "processes"));
	json_decref(state);
	return n;
}

/* Starts the daemon and waits until it replies. `stderr_fd`: where its log goes; below 0: to
 * log_file. Returns 0 or -1. */
static inline int start_with(int stderr_fd)
{
	char program[512];

	snprintf(program, sizeof(program), "%s/kfdschedd", getenv("BUILD"));
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	if (!mkdtemp(directory) || chmod(directory, 0755))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", directory);
	snprintf(log_file, sizeof(log_file), "%s/log", directory);
	if (stderr_fd < 0)
		stderr_fd = open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	daemon_pid = fork();
	if (daemon_pid == 0) {
		dup2(stderr_fd, STDERR_FILENO);
		execl(program, "kfdschedd", "--foreground", "--socket", path, (char *)NULL);
		_exit(127);
	}
	worker = query_worker();
	return worker > 0 ? 0 : -1;
}

/* Setup: starts the daemon. */
static inline int start(void **state)
{
	(void)state;
	return start_with(-1);
}

/* Teardown: ends the daemon. Returns -1 if it failed or left its socket or lock behind. */
static inline int stop(void **state)
{
	int status;

	(void)state;
	kill(daemon_pid, SIGTERM);
	waitpid(daemon_pid, &status, 0);
	unlink(log_file);
	if (rmdir(directory) != 0) /* fails unless the daemon has removed its socket and lock */
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Teardown of one test: returns 0 if the worker has not been restarted, -1 otherwise. */
static inline int unharmed(void **state)
{
	(void)state;
	return query_worker() == worker ? 0 : -1;
}

/* Returns the number of lines of the log that contain `text`. */
static inline size_t log_lines(const char *text)
{
	FILE *f = fopen(log_file, "re");
	char line[1024];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	fclose(f);
	return n;
}

/* Returns the number of the worker's file descriptors below 2048. */
static inline size_t open_files(void)
{
	char name[64];
	size_t n = 0;

	for (int fd = 0; fd < 2048; fd++) {
		struct stat st;

		snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)worker, fd);
		n += lstat(name, &st) == 0;
	}
	return n;
}

static uint32_t level; /* level that the next client requests */

/* Starts a child process that registers as a client, calls `act` with its shared memory and the
 * eventfd that wakes the daemon, and then ends with exit code 0. Returns its pid. */
static inline pid_t client(int priority, void (*act)(struct client_shm *, int wake))
{
	struct protocol_hello h = hello_of(PROTOCOL_SHIM, priority);
	struct protocol_welcome welcome;
	struct client_shm *shm;
	int fds[PROTOCOL_WELCOME_FDS];
	size_t nfds = PROTOCOL_WELCOME_FDS;
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no client is left behind when a test fails */
	/* a group name that is not UTF-8, and differs between priorities */
	memset(h.group, 0xe0 + (priority & 15), 10);
	h.level = level;
	fd = protocol_connect(path);
	if (fd < 0 || protocol_send(fd, &h, sizeof(h), NULL, 0) ||
	    protocol_receive(fd, &welcome, sizeof(welcome), fds, &nfds, 10000) ||
	    nfds != PROTOCOL_WELCOME_FDS || client_shm_map(fds[0], &shm))
		_exit(1);
	act(shm, fds[2]);
	_exit(0);
}

/* Returns a flag, initially false, that is shared with the test's child processes. It is never
 * freed. */
static inline bool *shared_flag(void)
{
	bool *flag = mmap(NULL, sizeof(*flag), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);

	assert_true(flag != MAP_FAILED);
	return flag;
}

static inline bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static inline void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_SEQ_CST);
}

/* Asserts that the child has ended with exit code 0. */
static inline void ended_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Fails unless `condition` becomes true within 10 s. */
#define EVENTUALLY(condition)                                                                      \
	do {                                                                                       \
		uint64_t give_up = clock_ns() + 10000000000u;                                      \
		bool came = false; /* stop at the first true: the condition may be brief */        \
		while (!(came = (condition)) && clock_ns() < give_up)                              \
			sleep_ms(10);                                                              \
		assert_true(came);                                                                 \
	} while (0)

#endif
