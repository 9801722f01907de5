// SPDX-License-Identifier: MIT
/*
 * Proves libkfdshim.so in a real process with the real HSA runtime on a (simulated) GPU. This
 * program acts as the daemon and orders a workload what to do.
 *
 *   test_shim_testbed CASE WORKLOAD [ARGUMENT]
 *
 * BUILD in the environment names the directory of the libraries.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "tests/system/shim/world.h"

#define TIMES 20

/* Queues, their hsa_queue_t, and RUNTIME_ENABLE for a runtime that does not make it. */
static void queues(void)
{
	testbed_start();
	testbed_create();
	CHECK(testbed.daemon.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED);
	CHECK(strcmp(testbed_query("destroy"), "ok") == 0);
	CHECK(fake_daemon_queue_count(&testbed.daemon) == 1);
	testbed_query("queue");
	CHECK(fake_daemon_queue_count(&testbed.daemon) == 2);
	testbed_end();
}

static void hooks(void)
{
	int silent, probed;

	/* A queue of a process that is not offline would be reported as blocked, and not as active,
	 * within milliseconds. */
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	testbed_start();
	testbed_create();
	while (testbed_repeat(__func__, TIMES, 2)) {
		EVENTUALLY(testbed_active() == 0, 1000);
		testbed_start_work("block");
		testbed_query("finish");
		AT_ONCE(testbed_active() == 0);
	}
	testbed_query("block");
	CHECK(sscanf(testbed_query("ring 100000"), "%d %d", &silent, &probed) == 2);
	CHECK(silent == 0);
	CHECK(probed == 1); /* proves that the counter works */
	CHECK(strstr(testbed_query("threads"), "kfdshim") != NULL);
	testbed_query("finish");
	testbed_end();
}

/* Another library wraps the same functions. Each of the two sees every call, and the shim reports
 * it at once. */
static void beside_another(void)
{
	unsigned ioctls = 0, stores = 0, waits = 0;
	/* not by PID, because several simulations have the same PIDs */
	char path[] = "/tmp/kfdshim-other-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	FILE *report;

	CHECK(getenv("PRELOAD_BEFORE") || getenv("PRELOAD_AFTER"));
	CHECK(fd >= 0);
	setenv("OTHER_REPORT", path, 1);
	hooks();
	report = fdopen(fd, "r");
	CHECK(report != NULL);
	CHECK(fscanf(report, "%u %u %u", &ioctls, &stores, &waits) == 3);
	fclose(report);
	unlink(path);
	CHECK(ioctls > 10 && stores >= 21 && waits >= 21);
}

/* Work that no hook sees is found within a few sampling periods. */
static void sampled(void)
{
	struct client_shm_queue q;

	/* The queue waits for a signal; in a process that is not offline it would be reported as
	 * blocked. */
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	testbed_start();
	testbed_create();
	for (int i = 0; i < 5; i++) {
		EVENTUALLY(testbed_active() == 0, 3000);
		testbed_query("block");
		EVENTUALLY(testbed_active() == 1, LATE_MS);
		fake_sleep_us(20000);
		CHECK(testbed_active() == 1);
		testbed_query("finish");
	}
	EVENTUALLY(testbed_active() == 0, 3000);
	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		CHECK(fake_daemon_entry(&testbed.daemon, i, &q) != 0 || q.hooked == 0);
	testbed_end();
}

/* A reserved slot counts as work. */
static void hints(void)
{
	testbed_start();
	testbed_create();
	while (testbed_repeat(__func__, TIMES, 2)) {
		EVENTUALLY(testbed_active() == 0, 1000);
		testbed_start_work("reserve");
		testbed_query("publish");
		AT_ONCE(testbed_active() == 0);
	}
	testbed_end();
}

/* A queue that waits for a signal of the program: active at once, then blocked and not active, then
 * active again, and idle when the wait returns. */
static void blocked(void)
{
	setenv("KFDSHIM_PRIORITY", "online", 1);
	testbed_start();
	testbed_create();
	for (int i = 0; i < 5; i++) {
		EVENTUALLY(testbed_active() == 0, 1000);
		testbed_start_work("block");
		EVENTUALLY(testbed_some_queue_is(CLIENT_SHM_QUEUE_BLOCKED), 1000);
		CHECK(testbed_active() == 0);
		fake_sleep_us(50000);
		CHECK(testbed_some_queue_is(CLIENT_SHM_QUEUE_BLOCKED));
		testbed_query("finish");
		EVENTUALLY(testbed_active() == 0 &&
				   !testbed_some_queue_is(CLIENT_SHM_QUEUE_BLOCKED),
			   LATE_MS);
	}
	testbed_end();
}

/* A program that resolves by handle, with the API table: store and wait, each in its two forms, are
 * seen as early as by symbol. */
static void all_by_table(void)
{
	uint64_t hsa_queue = strtoull(testbed_query("queue"), NULL, 16);
	char block[32], finish[32];
	struct client_shm_queue q;

	EVENTUALLY(testbed_listed(hsa_queue), 1000);
	for (int relaxed = 0; relaxed < 2; relaxed++) {
		snprintf(block, sizeof(block), "block %d", relaxed);
		snprintf(finish, sizeof(finish), "finish %d", relaxed);
		while (testbed_repeat(block, TIMES, 2)) {
			EVENTUALLY(testbed_active() == 0, 1000);
			testbed_start_work(block);
			testbed_query(finish);
			AT_ONCE(testbed_active() == 0);
		}
	}
	CHECK(testbed_queue(hsa_queue, &q) && q.hooked);
	CHECK(strcmp(testbed_query("destroy"), "ok") == 0);
}

/* The same after hsa_shut_down and hsa_init. */
static void tabled_unasked(void)
{
	/* A queue of a process that is not offline would be reported as blocked, and its end would
	 * not be seen. */
	setenv("KFDSHIM_PRIORITY", "offline", 1);
	testbed_start();
	testbed_query("queue");
	CHECK(fake_daemon_accept(&testbed.daemon, MEETS_MS) == 0);
	CHECK(strcmp(testbed_query("destroy"), "ok") == 0);
	all_by_table();
	CHECK(strcmp(testbed_query("again"), "ok") == 0);
	all_by_table();
	testbed_end();
}

/* ROCr 5 finds tools only by HSA_TOOLS_LIB; for newer versions the library is then named twice. */
static void tabled(void)
{
	char tool[512];

	snprintf(tool, sizeof(tool), "%s/libkfdshim.so", getenv("BUILD"));
	setenv("HSA_TOOLS_LIB", tool, 1);
	tabled_unasked();
}

/* What the program declares by kfdshim.h: a request counts as work without any, and a new priority
 * or SLO is published at once. */
static void requests(void)
{
	testbed_start();
	testbed_create();
	for (int i = 0; i < 5; i++) {
		EVENTUALLY(testbed_active() == 0, 1000);
		testbed_query("begin");
		EVENTUALLY(testbed_active() == 1, LATE_MS);
		testbed_query("block");
		testbed_query("finish");
		CHECK(testbed_active() == 1);
		testbed_query("end");
		EVENTUALLY(testbed_active() == 0, LATE_MS);
	}
	CHECK(testbed.daemon.hello.priority == PRIORITY_UNSET);
	CHECK(strcmp(testbed_query("priority 9"), "0") == 0);
	CHECK(testbed.daemon.shm->priority == 9);
	CHECK(fake_daemon_queue_count(&testbed.daemon) == 2);
	CHECK(strcmp(testbed_query("priority 16"), "0") != 0);
	CHECK(testbed.daemon.shm->priority == 9);
	CHECK(testbed.daemon.shm->slo_us == 0);
	CHECK(strcmp(testbed_query("slo 20000"), "0") == 0);
	CHECK(testbed.daemon.shm->slo_us == 20000);
	CHECK(strcmp(testbed_query("slo -1"), "0") != 0);
	CHECK(testbed.daemon.shm->slo_us == 20000);
	testbed_end();
}

/* Every queue of the program belongs to a profiler: it is known by the program's handle, and its
 * doorbell is seen although the real queue has another. */
static void intercepted(void)
{
	uint64_t hsa_queue;
	struct client_shm_queue q;

	setenv("HSA_TOOLS_LIB", getenv("PROFILER"), 1);
	testbed_start();
	hsa_queue = strtoull(testbed_query("queue"), NULL, 16);
	CHECK(fake_daemon_accept(&testbed.daemon, MEETS_MS) == 0);
	EVENTUALLY(testbed_listed(hsa_queue), 1000);
	CHECK(fake_daemon_queue_count(&testbed.daemon) == 2);
	while (testbed_repeat(__func__, TIMES, 1)) {
		EVENTUALLY(testbed_active() == 0, 3000);
		testbed_start_work("block");
		testbed_query("finish");
	}
	EVENTUALLY(testbed_active() == 0, 3000);
	/* The doorbell that was seen is not the queue's own. */
	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		CHECK(fake_daemon_entry(&testbed.daemon, i, &q) != 0 || q.hsa_queue != hsa_queue ||
		      !q.hooked);
	CHECK(strcmp(testbed_query("destroy"), "ok") == 0);
	CHECK(!testbed_listed(hsa_queue) && fake_daemon_queue_count(&testbed.daemon) == 1);
	testbed_end();
}

static int count(const char *text, const char *word)
{
	int n = 0;

	while ((text = strstr(text, word))) {
		n++;
		text++;
	}
	return n;
}

/* Returns the number of eventfds in a child of the same program without the library, because a
 * newer runtime has an eventfd of its own. */
static int eventfds_of_a_bare_child(void)
{
	char command[512], line[512];
	int n = -1;
	FILE *f;

	snprintf(command, sizeof(command), "printf 'queue\nfork\nquit\n' | '%s'", testbed.argv[0]);
	f = popen(command, "r");
	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, "threads ", 8) == 0)
			n = count(line, "eventfd");
	CHECK(pclose(f) == 0 && n >= 0);
	return n;
}

/* The agent's thread closes the daemon's files once it has mapped them. A child that is forked
 * before that inherits them. */
static bool has_memfd(void)
{
	char directory[64], file[256];
	struct dirent *entry;
	bool found = false;
	ssize_t n;
	DIR *dir;

	snprintf(directory, sizeof(directory), "/proc/%d/fd", (int)testbed.workload);
	dir = opendir(directory);
	CHECK(dir != NULL);
	while (!found && (entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, file, sizeof(file) - 1);
		file[n > 0 ? n : 0] = '\0';
		found = strstr(file, "memfd:kfdshim") != NULL;
	}
	closedir(dir);
	return found;
}

static void forked(void)
{
	int eventfds = eventfds_of_a_bare_child();
	uint64_t activity;

	testbed_start();
	testbed_create();
	EVENTUALLY(testbed_active() == 0, 1000);
	EVENTUALLY(!has_memfd(), 1000);
	activity = testbed.daemon.shm->nodes[0].activity;
	testbed_query("fork");
	CHECK(strncmp(testbed.reply, "threads ", 8) == 0);
	CHECK(strstr(testbed.reply, "kfdshim") ==
	      NULL); /* neither the agent's thread nor a memfd */
	CHECK(strstr(testbed.reply, "socket") == NULL &&
	      count(testbed.reply, "eventfd") == eventfds);
	CHECK(testbed.daemon.shm->nodes[0].activity == activity);
	/* The parent works as before. */
	testbed_start_work("block");
	testbed_query("finish");
	EVENTUALLY(testbed_active() == 0, LATE_MS);
	testbed_end();
}

/* hsa_shut_down, and hsa_init again. */
static void again(void)
{
	testbed_start();
	testbed_create();
	testbed_query("destroy");
	CHECK(strcmp(testbed_query("again"), "ok") == 0);
	CHECK(fake_daemon_queue_count(&testbed.daemon) == 0);
	testbed_query("queue");
	CHECK(fake_daemon_queue_count(&testbed.daemon) == 2);
	EVENTUALLY(testbed_active() == 0, LATE_MS);
	testbed_start_work("block");
	testbed_query("finish");
	EVENTUALLY(testbed_active() == 0, LATE_MS);
	CHECK(testbed.daemon.shm->runtime == CLIENT_SHM_RUNTIME_ENABLED);
	testbed_end();
}

/* Returns the workload's VRAM in bytes as sysfs shows it. */
static uint64_t driver_vram(uint32_t gpu_id)
{
	unsigned long long bytes = UINT64_MAX;
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/vram_%u", (int)testbed.workload,
		 gpu_id);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &bytes) != 1)
		fake_failed(path, 0, "cannot be read");
	fclose(f);
	return bytes;
}

static uint64_t shm_vram(uint32_t *gpu_id)
{
	struct client_shm_node node;

	CHECK(client_shm_node_read(testbed.daemon.shm, 0, &node) == 0);
	*gpu_id = node.gpu_id;
	return node.vram_bytes;
}

/* For the runtime the limit looks like a full card, and it continues. */
static void vram(void)
{
	uint64_t before, bytes;
	uint32_t gpu_id;

	setenv("KFDSHIM_VRAM_LIMIT", "512M", 1);
	testbed_start();
	testbed_create();
	before = shm_vram(&gpu_id);
	CHECK(before == driver_vram(gpu_id));
	CHECK(strcmp(testbed_query("vram 300"), "ok") == 0);
	bytes = shm_vram(&gpu_id);
	CHECK(bytes >= before + (300ull << 20) && bytes == driver_vram(gpu_id));
	CHECK(strcmp(testbed_query("vram 300"), "out of resources") == 0);
	CHECK(shm_vram(&gpu_id) == bytes && bytes == driver_vram(gpu_id));
	EVENTUALLY(testbed_active() == 0, LATE_MS);
	testbed_start_work("block");
	testbed_query("finish");
	CHECK(strcmp(testbed_query("vramfree"), "ok") == 0);
	CHECK(shm_vram(&gpu_id) == before);
	CHECK(strcmp(testbed_query("vram 300"), "ok") == 0);
	CHECK(shm_vram(&gpu_id) == driver_vram(gpu_id));
	testbed_end();
}

/* The program waits at the gate for at most a second. The runtime's own thread, on which the
 * program may be called back, never waits. */
static void gated(void)
{
	uint64_t begun;
	long ms;

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	setenv("KFDSHIM_LEVEL", "gate", 0);
	testbed_start();
	testbed_create();
	CHECK(atol(testbed_query("async")) >= 0);
	testbed_command_hold(CLIENT_SHM_LEVEL_GATE, true);
	ms = atol(testbed_query("async"));
	fprintf(stderr, "a callback's submission took %ld ms\n", ms);
	CHECK(ms >= 0 && ms < 700);
	begun = clock_ns();
	testbed_query("reserve");
	CHECK(clock_ns() - begun >= 900000000u);
	testbed_query("publish");
	testbed_command_hold(CLIENT_SHM_LEVEL_GATE, false);
	testbed_end();
}

IN_CHILD(gated)
IN_CHILD(queues)
IN_CHILD(hooks)
IN_CHILD(sampled)
IN_CHILD(hints)
IN_CHILD(blocked)
IN_CHILD(tabled)
IN_CHILD(tabled_unasked)
IN_CHILD(requests)
IN_CHILD(intercepted)
IN_CHILD(beside_another)
IN_CHILD(forked)
IN_CHILD(again)
IN_CHILD(vram)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues),	       cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_sampled),	       cmocka_unit_test(test_hints),
		cmocka_unit_test(test_blocked),	       cmocka_unit_test(test_forked),
		cmocka_unit_test(test_again),	       cmocka_unit_test(test_vram),
		cmocka_unit_test(test_tabled),	       cmocka_unit_test(test_intercepted),
		cmocka_unit_test(test_tabled_unasked), cmocka_unit_test(test_requests),
		cmocka_unit_test(test_beside_another), cmocka_unit_test(test_gated),
	};

	/* the workload must not inherit descriptors that the caller of the tests left open */
	closefrom(3);
	return testbed_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
