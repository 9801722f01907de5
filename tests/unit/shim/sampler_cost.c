// SPDX-License-Identifier: MIT
/*
 * Proves how often the agent's thread wakes: with 16 queues no more often than its periods allow
 * (docs/internals/activity.md), without queues never, and never for a drained queue that hooks
 * follow. The test counts wakes, because the CPU time of a wake depends on the machine (in a
 * virtual machine on a busy host it is many times as long as elsewhere).
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define QUEUES 16
#define SPAN_US 2000000u
#define SETTLE_US 100000u /* it wakes once more, and registers for barriers the first time */
/*
 * Limit per second: one poll each 16 ms, and a few more at first, when the periods are short. On
 * two busy cores 61 to 67 were measured. The limit is twice that number: a thread that is also
 * woken for other reasons, or that polls twice each time, exceeds it.
 */
#define WAKES_MOST (2 * 1000 / 16)

static struct fake_daemon daemon_;
static struct fake_queue queues[QUEUES];
static char agent_task[300];

/* Finds the agent's thread by its name, which is part of the interface. */
static void find_thread(void)
{
	DIR *dir = opendir("/proc/self/task");
	char path[300], name[32];
	struct dirent *entry;
	FILE *f;

	CHECK(dir != NULL);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && strcmp(name, "kfdshim\n") == 0)
			snprintf(agent_task, sizeof(agent_task), "/proc/self/task/%s",
				 entry->d_name);
		if (f)
			fclose(f);
	}
	closedir(dir);
	CHECK(agent_task[0]);
}

/* CPU time of a thread, and the number of its voluntary context switches. */
struct spent {
	uint64_t cpu_ns, wakes;
};

static struct spent spent(const char *task)
{
	unsigned long long ns, wakes = 0;
	struct spent s = {0};
	char path[400], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/schedstat", task);
	f = fopen(path, "r");
	CHECK(f && fscanf(f, "%llu", &ns) == 1);
	fclose(f);
	snprintf(path, sizeof(path), "%s/status", task);
	f = fopen(path, "r");
	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &wakes) == 1)
			break;
	fclose(f);
	s.cpu_ns = ns;
	s.wakes = wakes;
	return s;
}

/* Returns the number of wakes per second, and prints their CPU time for the log. */
static double wakes_a_second(const char *when)
{
	struct spent before, after;
	double seconds, wakes;
	uint64_t t = clock_ns();

	before = spent(agent_task);
	fake_sleep_us(SPAN_US);
	after = spent(agent_task);
	seconds = (double)(clock_ns() - t) / 1e9;
	wakes = (double)(after.wakes - before.wakes);
	printf("%s: %.0f wakes/s, %.3f %% of a core in all\n", when, wakes / seconds,
	       (double)(after.cpu_ns - before.cpu_ns) / 1e7 / seconds);
	fflush(stdout);
	return wakes / seconds;
}

/* Returns whether the thread does not wake for more than a second. It may have been late with its
 * last work, so the test tries again. */
static bool sleeps(void)
{
	struct spent before, after;
	bool still = false;

	for (int i = 0; i < 3 && !still; i++) {
		fake_sleep_us(SETTLE_US);
		before = spent(agent_task);
		fake_sleep_us(1200000);
		after = spent(agent_task);
		still = after.wakes == before.wakes && after.cpu_ns == before.cpu_ns;
	}
	return still;
}

static void sixteen_queues(void)
{
	double busy, quiet;

	fake_daemon_open(&daemon_);
	fake_start();
	for (int i = 0; i < QUEUES; i++)
		CHECK(fake_queue_create(&queues[i], KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == QUEUES, 1000);
	find_thread();
	quiet = wakes_a_second("quiet");
	for (int i = 0; i < QUEUES; i++)
		fake_ring(&queues[i], NULL);
	busy = wakes_a_second("busy");
	for (int i = 0; i < QUEUES; i++)
		CHECK(fake_queue_destroy(&queues[i]) == 0);
	CHECK(busy <= WAKES_MOST && busy > 0);
	CHECK(quiet <= WAKES_MOST && quiet > 0);
	CHECK(sleeps());
}

/* The hooks have seen all queues, and these are drained: the thread sleeps. */
static void covered_and_drained(void)
{
	struct fake_signal last = {.kind = 1};

	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_queue_create(&queues[0], KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	fake_ring(&queues[0], &last);
	fake_drain(&queues[0]);
	fake_waited(&last);
	find_thread();
	CHECK(sleeps());
	/* A plain store that no hook sees is not noticed while the thread sleeps, but the next
	 * doorbell is, and from then on everything. */
	CHECK(fake_ring(&queues[0], NULL));
	fake_drain(&queues[0]);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
}

static int remove_all(const char *directory)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

/* Without a daemon the thread neither tries to connect nor reads peers. A daemon that has started
 * in the meantime is found when there is a queue again. */
static void no_peer_there(void)
{
	char meeting[80];

	fake_daemon_open(&daemon_);
	fake_daemon_die(&daemon_);
	snprintf(meeting, sizeof(meeting), "%s/kfdshim", daemon_.directory);
	setenv("XDG_RUNTIME_DIR", daemon_.directory, 1);
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	fake_start();
	CHECK(fake_queue_create(&queues[0], KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	fake_ring(&queues[0], NULL);
	fake_drain(&queues[0]);
	EVENTUALLY(access(meeting, F_OK) == 0, 2000);
	find_thread();
	CHECK(fake_queue_destroy(&queues[0]) == 0);
	CHECK(sleeps());
	fake_daemon_listen(&daemon_);
	CHECK(sleeps());
	CHECK(fake_queue_create(&queues[0], KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	CHECK(remove_all(daemon_.directory) == 0);
}

IN_CHILD(sixteen_queues)
IN_CHILD(covered_and_drained)
IN_CHILD(no_peer_there)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sixteen_queues),
		cmocka_unit_test(test_covered_and_drained),
		cmocka_unit_test(test_no_peer_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
