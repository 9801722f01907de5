// SPDX-License-Identifier: MIT
/* Proves how the agent treats fork, vfork and clone, the signals of its thread, closed descriptors,
 * and invalid values in the environment. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;

static void begin(struct fake_queue *q)
{
	fake_begin(&daemon_, q);
}

/* A forked child rings, waits and destroys: nothing of that changes the parent's shared memory. */
static void child_forgets(void)
{
	struct fake_signal last = {.kind = 1};
	uint32_t teardown_begin;
	struct fake_queue q;
	uint64_t transitions;
	pid_t pid;

	begin(&q);
	fake_ring(&q, &last);
	fake_settle();
	teardown_begin = daemon_.shm->teardown_begin;
	pid = fork();
	if (pid == 0) {
		CHECK(fake_ring(&q, &last)); /* the child's table of active doorbells is empty */
		fake_waited(&last);
		CHECK(fake_queue_destroy(&q) == 0);
		_exit(0);
	}
	CHECK(fake_wait_for(pid) == 0);
	CHECK(daemon_.shm->teardown_begin == teardown_begin);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
	CHECK(!fake_ring(&q, &last)); /* the parent's doorbell is still in the table */
	transitions = fake_daemon_transitions(&daemon_, FAKE_GPU);
	fake_waited(&last);
	fake_settle();
	/* Nothing else can cause the change, because the packet is not drained. (If the packet
	 * stays for long, the queue is active again.) */
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) > transitions);
	fake_daemon_remove(&daemon_);
}

/* A child that uses the GPU itself is a client of its own. */
static void child_starts_anew(void)
{
	struct fake_queue q, own;
	struct client_shm *parents;
	pid_t pid;

	begin(&q);
	parents = daemon_.shm;
	pid = fork();
	if (pid == 0) {
		CHECK(fake_queue_create(&own, AQL) == 0);
		CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
		EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
		fake_ring(&own, NULL);
		EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
		_exit(0);
	}
	CHECK(fake_wait_for(pid) == 0);
	CHECK(parents->nodes[0].activity == 0);
	fake_daemon_remove(&daemon_);
}

/* A bare clone() runs no fork handler: every call passes through to the driver. */
static void bare_clone_passes_through(void)
{
	struct client_shm_queue entry;
	struct fake_queue q, own;
	pid_t pid;

	begin(&q);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		CHECK(fake_queue_create(&own, AQL) == 0);
		CHECK(fake_queue_destroy(&q) == 0);
		_exit(0);
	}
	CHECK(fake_wait_for(pid) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0);
	fake_daemon_remove(&daemon_);
}

/* A child of vfork() shares its parent's memory: the child's calls must not change the parent's
 * entries. */
static void vfork_child_passes_through(void)
{
	struct fake_signal last = {.kind = 1};
	struct client_shm_queue entry;
	struct fake_queue q;
	uint64_t transitions;
	uint32_t generation;
	pid_t pid;

	begin(&q);
	fake_ring(&q, &last);
	fake_settle();
	generation = daemon_.shm->queue_generation;
	pid = vfork();
	if (pid == 0) {
		fake_queue_destroy(&q);
		_exit(0);
	}
	CHECK(fake_wait_for(pid) == 0);
	CHECK(daemon_.shm->queue_generation == generation);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
	transitions = fake_daemon_transitions(&daemon_, FAKE_GPU);
	fake_waited(&last);
	fake_settle();
	/* Nothing else can cause the change, because the packet is not drained. (If the packet
	 * stays for long, the queue is active again.) */
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) > transitions);
	fake_daemon_remove(&daemon_);
}

/* A program's signal handlers run in the program's threads only, so the agent's thread blocks all
 * signals except 32 and 33, which libc needs. */
static void its_thread_takes_no_signal(void)
{
	const uint64_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 3ull << 31;
	char path[300], line[128];
	unsigned long long blocked = 0;
	struct dirent *entry;
	struct fake_queue q;
	bool ours = false;
	FILE *status;
	DIR *tasks;

	begin(&q);
	tasks = opendir("/proc/self/task");
	CHECK(tasks != NULL);
	while (!ours && (entry = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		status = fopen(path, "re");
		while (status && fgets(line, sizeof(line), status)) {
			ours |= strcmp(line, "Name:\tkfdshim\n") == 0;
			sscanf(line, "SigBlk: %llx", &blocked);
		}
		if (status)
			fclose(status);
	}
	closedir(tasks);
	CHECK(ours && (blocked | never) == UINT64_MAX);
	fake_daemon_remove(&daemon_);
}

/* ---- descriptors ---- */

/* Returns whether a standard descriptor stays open for 5 s. That is longer than the time between
 * the kernel giving the agent such a number and the agent moving the file to another, even if the
 * thread has no core in between. */
static bool something_stays_below_3(void)
{
	for (int i = 0; i < 5000; i++) {
		if (fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1 && fcntl(2, F_GETFD) == -1)
			return false;
		fake_sleep_us(1000);
	}
	return true;
}

/* If the program has closed its standard descriptors, the agent's files must not get their numbers:
 * the program's output would go into them. */
static void standard_descriptors_stay_closed(void)
{
	struct fake_queue q;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_daemon_open(&daemon_);
	fake_start();
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (fake_queue_create(&q, AQL) != 0)
		_exit(10);
	if (fake_daemon_accept(&daemon_, MEETS_MS) != 0) /* the stub daemon's own end is fd 0 now */
		_exit(11);
	CHECK(fcntl(daemon_.client, F_DUPFD, 10) >= 0 && close(daemon_.client) == 0);
	for (int i = 0; i < 1000 && fake_daemon_queue_count(&daemon_) < 1; i++)
		fake_sleep_us(1000);
	if (fake_daemon_queue_count(&daemon_) != 1)
		_exit(12);
	if (something_stays_below_3())
		_exit(20);
	fake_daemon_remove(&daemon_);
}

/* The same for the files that the agent has without a daemon: peers' files, a session on itself, a
 * copy of the device. The child reports by its exit code, because it has no output. */
static void without_a_daemon(const char *level)
{
	char directory[] = "/tmp/kfdshim-life-XXXXXX", command[64];
	struct fake_signal last = {.kind = 1};
	struct fake_queue q;

	CHECK(mkdtemp(directory) != NULL);
	setenv("XDG_RUNTIME_DIR", directory, 1);
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", level, 1);
	setenv("KFDSHIM_LOG", "debug", 1); /* the log is discarded, because stderr is closed */
	fake_start();
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (fake_runtime(1) != 0 || fake_queue_create(&q, AQL) != 0)
		_exit(10);
	snprintf(command, sizeof(command), "%s/kfdshim", directory);
	for (int i = 0; i < 3000 && access(command, F_OK) != 0; i++)
		fake_sleep_us(1000);
	if (access(command, F_OK) != 0)
		_exit(11);
	for (int i = 0; i < 50; i++) {
		fake_ring(&q, &last);
		fake_drain(&q);
		fake_waited(&last);
		if (something_stays_below_3())
			_exit(20);
		fake_sleep_us(1000);
	}
	if (fake_queue_destroy(&q) != 0)
		_exit(12);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command) != 0)
		_exit(13);
}

static void standard_descriptors_stay_closed_at_self(void)
{
	without_a_daemon("self");
	if (!strchr(fake.calls, 'T')) /* it has tried to open a session */
		_exit(14);
}

static void standard_descriptors_stay_closed_at_weight(void)
{
	without_a_daemon("weight");
}

static uint64_t cpu_us(void)
{
	struct rusage usage;

	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* The program closes all descriptors that it has not opened: the agent's thread must not spin, and
 * the queues keep working. */
static void all_descriptors_closed_behind_us(void)
{
	char directory[] = "/tmp/kfdshim-life-XXXXXX";
	struct fake_signal last = {.kind = 1};
	struct fake_queue q;
	char command[64];
	uint64_t before;
	bool is_cached = true;

	CHECK(mkdtemp(directory) != NULL);
	setenv("XDG_RUNTIME_DIR", directory, 1);
	setenv("KFDSHIM_SOCKET", "/nowhere/socket", 1);
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	CHECK(fake_queue_create(&q, AQL) == 0);
	fake_sleep_us(100000);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	fake_sleep_us(50000);
	/* CPU time that the host takes away can be charged to this process, so the test tries
	 * several times. */
	for (int i = 0; i < 4 && is_cached; i++) {
		before = cpu_us();
		fake_sleep_us(500000);
		is_cached = cpu_us() - before >= 100000;
	}
	CHECK(!is_cached);
	for (int i = 0; i < 100; i++) {
		fake_ring(&q, &last);
		fake_drain(&q);
		fake_waited(&last);
	}
	CHECK(fake_queue_destroy(&q) == 0);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	CHECK(system(command) == 0);
}

/* Returns the number of lines that the agent writes to stderr when it starts with these values. */
static int lines_logged(const char *log, const char *priority, const char *group, const char *level)
{
	char text[2048];
	int fds[2], n, lines = 0;
	pid_t pid;

	CHECK(pipe(fds) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		setenv("KFDSHIM_LOG", log, 1);
		setenv("KFDSHIM_PRIORITY", priority, 1);
		setenv("KFDSHIM_GROUP", group, 1);
		setenv("KFDSHIM_LEVEL", level, 1);
		fake_start();
		_exit(0);
	}
	close(fds[1]);
	CHECK(fake_wait_for(pid) == 0);
	n = (int)read(fds[0], text, sizeof(text));
	close(fds[0]);
	for (int i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

static void bad_values_are_logged_once(void)
{
	char group[200];

	memset(group, 'g', sizeof(group) - 1);
	group[sizeof(group) - 1] = '\0';
	CHECK(lines_logged("error", "online", "g", "auto") == 0);
	CHECK(lines_logged("error", "", "", "") == 0);
	CHECK(lines_logged("error", "high", "g", "auto") == 1);
	CHECK(lines_logged("error", "16", group, "turbo") == 3);
	CHECK(lines_logged("debug", "16", group, "turbo") == 3);
	CHECK(lines_logged("off", "16", group, "turbo") == 0);
	CHECK(lines_logged("", "16", group, "turbo") == 0);
	CHECK(lines_logged("loud", "16", group, "turbo") == 0);
	for (int i = 0; i < 2; i++)
		CHECK(lines_logged("error", "offline", "g", i ? "self" : "weight") == 0);
}

static void bad_priority_is_unset(void)
{
	struct fake_queue q;

	setenv("KFDSHIM_PRIORITY", "urgent", 1);
	begin(&q);
	CHECK(daemon_.hello.priority == PRIORITY_UNSET && daemon_.hello.group[0] == '\0');
	fake_daemon_remove(&daemon_);
}

IN_CHILD(child_forgets)
IN_CHILD(child_starts_anew)
IN_CHILD(bare_clone_passes_through)
IN_CHILD(vfork_child_passes_through)
IN_CHILD(its_thread_takes_no_signal)
IN_CHILD(standard_descriptors_stay_closed)
IN_CHILD(standard_descriptors_stay_closed_at_self)
IN_CHILD(standard_descriptors_stay_closed_at_weight)
IN_CHILD(bad_values_are_logged_once)
IN_CHILD(bad_priority_is_unset)

#ifndef __SANITIZE_THREAD__
IN_CHILD(all_descriptors_closed_behind_us)
#else
/* The test is compiled but not run. */
__attribute__((used)) static void (*const not_under_tsan)(void) = all_descriptors_closed_behind_us;
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_forgets),
		cmocka_unit_test(test_child_starts_anew),
		cmocka_unit_test(test_bare_clone_passes_through),
		cmocka_unit_test(test_vfork_child_passes_through),
		cmocka_unit_test(test_its_thread_takes_no_signal),
		cmocka_unit_test(test_standard_descriptors_stay_closed),
		cmocka_unit_test(test_standard_descriptors_stay_closed_at_self),
		cmocka_unit_test(test_standard_descriptors_stay_closed_at_weight),
		cmocka_unit_test(test_bad_values_are_logged_once),
		cmocka_unit_test(test_bad_priority_is_unset),
#ifndef __SANITIZE_THREAD__
		/* Descriptors are closed while other threads use them: ThreadSanitizer would report
		 * races that are not the agent's. */
		cmocka_unit_test(test_all_descriptors_closed_behind_us),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
