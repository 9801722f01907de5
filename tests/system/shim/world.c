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

struct world world;

static int to, from;

void world_start(void)
{
	int in[2], out[2];
	const char *before = getenv("PRELOAD_BEFORE"), *after = getenv("PRELOAD_AFTER");
	char preload[1024];

	fake_daemon_open(&world.daemon);
	CHECK(pipe(in) == 0 && pipe(out) == 0);
	snprintf(preload, sizeof(preload), "%s:%s/libkfdshim.so:%s", before ? before : "",
		 getenv("BUILD"), after ? after : "");
	world.workload = fork();
	if (world.workload == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		setenv("LD_PRELOAD", preload, 1);
		execvp(world.argv[0], world.argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
}

void world_order(const char *order)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s\n", order);

	CHECK(write(to, line, (size_t)n) == n);
}

bool world_answered(int ms)
{
	struct pollfd fd = {.fd = from, .events = POLLIN};

	return poll(&fd, 1, ms) == 1;
}

/* The workload answers each order with one line, and gets no further order before that. */
const char *world_answer(void)
{
	size_t n = 0;
	ssize_t got;

	do {
		got = read(from, world.answer + n, sizeof(world.answer) - 1 - n);
		if (got <= 0)
			fake_failed(__FILE__, __LINE__, "the workload is gone");
		n += (size_t)got;
	} while (world.answer[n - 1] != '\n' && n < sizeof(world.answer) - 1);
	world.answer[n - 1] = '\0';
	return world.answer;
}

const char *world_tell(const char *order)
{
	world_order(order);
	return world_answer();
}

void world_end(void)
{
	int status;

	world_order("quit");
	CHECK(waitpid(world.workload, &status, 0) == world.workload && status == 0);
	fake_daemon_remove(&world.daemon);
}

bool world_queue(uint64_t hsa_queue, struct lane_queue *out)
{
	for (uint32_t i = 0; i < LANE_QUEUES; i++)
		if (fake_daemon_entry(&world.daemon, i, out) == 0 && out->hsa_queue == hsa_queue &&
		    out->type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL)
			return true;
	return false;
}

bool world_listed(uint64_t hsa_queue)
{
	struct lane_queue q;

	return world_queue(hsa_queue, &q);
}

bool world_some_queue_is(uint32_t state)
{
	struct lane_queue q;

	for (uint32_t i = 0; i < LANE_QUEUES; i++)
		if (fake_daemon_entry(&world.daemon, i, &q) == 0 && q.state == state)
			return true;
	return false;
}

uint64_t world_word(uint64_t address)
{
	uint64_t value;
	char path[64];
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)world.workload);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(mem >= 0 && pread(mem, &value, sizeof(value), (off_t)address) == sizeof(value));
	close(mem);
	return value;
}

int world_active(void)
{
	struct lane_node node;

	return lane_node_read(world.daemon.lane, 0, &node) == 0 ? (int)(node.activity & 1) : -1;
}

uint64_t world_changes(void)
{
	struct lane_node node;

	return lane_node_read(world.daemon.lane, 0, &node) == 0 ? node.activity >> 1 : 0;
}

uint64_t world_create(void)
{
	uint64_t hsa_queue = strtoull(world_tell("queue"), NULL, 16);

	CHECK(fake_daemon_accept(&world.daemon, MEETS_MS) == 0);
	EVENTUALLY(world.daemon.lane->runtime != LANE_RUNTIME_UNKNOWN, 1000);
	/* the program's own and ROCr's */
	EVENTUALLY(fake_daemon_queue_count(&world.daemon) == 2, 1000);
	CHECK(hsa_queue != 0 && world_listed(hsa_queue));
	return hsa_queue;
}

void world_order_hold(enum lane_level level, bool hold)
{
	static unsigned number;
	struct fake_daemon *d = &world.daemon;
	uint32_t word = LANE_ORDER(level, hold, ++number);

	/* The heartbeat is valid for as long as a test lasts. */
	__atomic_store_n(&d->board->heartbeat_ns, clock_ns() + 60000000000u, __ATOMIC_RELAXED);
	__atomic_store_n(&d->lane->order, word, __ATOMIC_RELEASE);
	fake_daemon_wake(d);
	EVENTUALLY(__atomic_load_n(&d->lane->order_done, __ATOMIC_ACQUIRE) == word, 2000);
	CHECK(d->lane->order_errno == 0);
}

bool world_again(const char *what, int turns, int looks)
{
	bool enough;

	if (world.turns == 0)
		world.at_once = 0;
	if (world.turns++ < turns)
		return true;
	world.turns = 0;
	enough = world.at_once * 4 >= turns * looks * 3;
	if (!enough)
		fprintf(stderr, "%s: %d of %d at once\n", what, world.at_once, turns * looks);
	world.groups = enough ? 0 : world.groups + 1;
	CHECK(world.groups < GROUPS);
	return !enough && world_again(what, turns, looks);
}

void world_tell_work(const char *order)
{
	uint64_t changes = world_changes();

	world_tell(order);
	AT_ONCE(world_changes() > changes);
}

int world_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n)
{
	if (argc < 3 || !getenv("BUILD")) {
		fprintf(stderr, "usage: BUILD=... %s test_CASE WORKLOAD [ARGUMENT]\n", argv[0]);
		return 2;
	}
	world.argv = argv + 2;
	for (size_t i = 0; i < n; i++)
		if (strcmp(tests[i].name, argv[1]) == 0)
			return _cmocka_run_group_tests(argv[1], &tests[i], 1, NULL, NULL);
	fprintf(stderr, "no case %s\n", argv[1]);
	return 2;
}
