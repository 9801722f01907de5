// SPDX-License-Identifier: MIT
#include "tests/system/shim/world.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"

#define GROUPS 20

struct testbed testbed;

static int to, from;

void testbed_start(void)
{
	int in[2], out[2];
	const char *before = getenv("PRELOAD_BEFORE"), *after = getenv("PRELOAD_AFTER");
	char preload[1024];

	fake_daemon_open(&testbed.daemon);
	CHECK(pipe(in) == 0 && pipe(out) == 0);
	snprintf(preload, sizeof(preload), "%s:%s/libkfdshim.so:%s", before ? before : "",
		 getenv("BUILD"), after ? after : "");
	testbed.workload = fork();
	if (testbed.workload == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		setenv("LD_PRELOAD", preload, 1);
		execvp(testbed.argv[0], testbed.argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
}

void testbed_send(const char *command)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s\n", command);

	CHECK(write(to, line, (size_t)n) == n);
}

bool testbed_has_reply(int ms)
{
	struct pollfd fd = {.fd = from, .events = POLLIN};

	return poll(&fd, 1, ms) == 1;
}

/* The workload answers each order with one line, and gets no further order before that. */
const char *testbed_reply(void)
{
	size_t n = 0;
	ssize_t got;

	do {
		got = read(from, testbed.reply + n, sizeof(testbed.reply) - 1 - n);
		if (got <= 0)
			fake_failed(__FILE__, __LINE__, "the workload is gone");
		n += (size_t)got;
	} while (testbed.reply[n - 1] != '\n' && n < sizeof(testbed.reply) - 1);
	testbed.reply[n - 1] = '\0';
	return testbed.reply;
}

const char *testbed_query(const char *command)
{
	testbed_send(command);
	return testbed_reply();
}

void testbed_end(void)
{
	int status;

	testbed_send("quit");
	CHECK(waitpid(testbed.workload, &status, 0) == testbed.workload && status == 0);
	fake_daemon_remove(&testbed.daemon);
}

bool testbed_queue(uint64_t hsa_queue, struct client_shm_queue *out)
{
	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		if (fake_daemon_entry(&testbed.daemon, i, out) == 0 &&
		    out->hsa_queue == hsa_queue && out->type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL)
			return true;
	return false;
}

bool testbed_listed(uint64_t hsa_queue)
{
	struct client_shm_queue q;

	return testbed_queue(hsa_queue, &q);
}

bool testbed_some_queue_is(uint32_t state)
{
	struct client_shm_queue q;

	for (uint32_t i = 0; i < CLIENT_SHM_QUEUES; i++)
		if (fake_daemon_entry(&testbed.daemon, i, &q) == 0 && q.state == state)
			return true;
	return false;
}

uint64_t testbed_word(uint64_t address)
{
	uint64_t value;
	char path[64];
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)testbed.workload);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(mem >= 0 && pread(mem, &value, sizeof(value), (off_t)address) == sizeof(value));
	close(mem);
	return value;
}

int testbed_active(void)
{
	struct client_shm_node node;

	return client_shm_node_read(testbed.daemon.shm, 0, &node) == 0 ? (int)(node.activity & 1)
								       : -1;
}

uint64_t testbed_changes(void)
{
	struct client_shm_node node;

	return client_shm_node_read(testbed.daemon.shm, 0, &node) == 0 ? node.activity >> 1 : 0;
}

uint64_t testbed_create(void)
{
	uint64_t hsa_queue = strtoull(testbed_query("queue"), NULL, 16);

	CHECK(fake_daemon_accept(&testbed.daemon, MEETS_MS) == 0);
	EVENTUALLY(testbed.daemon.shm->runtime != CLIENT_SHM_RUNTIME_UNKNOWN, 1000);
	/* the program's own and ROCr's */
	EVENTUALLY(fake_daemon_queue_count(&testbed.daemon) == 2, 1000);
	CHECK(hsa_queue != 0 && testbed_listed(hsa_queue));
	return hsa_queue;
}

void testbed_command_hold(enum client_shm_level level, bool hold)
{
	static unsigned number;
	struct fake_daemon *d = &testbed.daemon;
	uint32_t word = HOLD_CMD(level, hold, ++number);

	/* The heartbeat is valid for as long as a test lasts. */
	__atomic_store_n(&d->daemon_shm->heartbeat_ns, clock_ns() + 60000000000u, __ATOMIC_RELAXED);
	__atomic_store_n(&d->shm->hold_cmd, word, __ATOMIC_RELEASE);
	fake_daemon_wake(d);
	EVENTUALLY(__atomic_load_n(&d->shm->hold_cmd_done, __ATOMIC_ACQUIRE) == word, 2000);
	CHECK(d->shm->hold_cmd_errno == 0);
}

bool testbed_repeat(const char *what, int turns, int polls)
{
	bool enough;

	if (testbed.turns == 0)
		testbed.at_once = 0;
	if (testbed.turns++ < turns)
		return true;
	testbed.turns = 0;
	enough = testbed.at_once * 4 >= turns * polls * 3;
	if (!enough)
		fprintf(stderr, "%s: %d of %d at once\n", what, testbed.at_once, turns * polls);
	testbed.groups = enough ? 0 : testbed.groups + 1;
	CHECK(testbed.groups < GROUPS);
	return !enough && testbed_repeat(what, turns, polls);
}

void testbed_start_work(const char *command)
{
	uint64_t changes = testbed_changes();

	testbed_query(command);
	AT_ONCE(testbed_changes() > changes);
}

int testbed_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n)
{
	if (argc < 3 || !getenv("BUILD")) {
		fprintf(stderr, "usage: BUILD=... %s test_CASE WORKLOAD [ARGUMENT]\n", argv[0]);
		return 2;
	}
	testbed.argv = argv + 2;
	for (size_t i = 0; i < n; i++)
		if (strcmp(tests[i].name, argv[1]) == 0)
			return _cmocka_run_group_tests(argv[1], &tests[i], 1, NULL, NULL);
	fprintf(stderr, "no case %s\n", argv[1]);
	return 2;
}
