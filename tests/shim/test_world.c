// SPDX-License-Identifier: MIT
/*
 * libkfdshim.so in a real process with the real HSA runtime on a (simulated)
 * GPU. This program plays the daemon and gives a workload its orders.
 * Usage: test_shim_world CASE WORKLOAD [ARGUMENT]; BUILD names the libraries.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/kfd_abi.h"
#include "tests/shim/fake_daemon.h"
#include "tests/shim/fake_kfd.h"

static struct fake_daemon daemon_;
static char **workload_argv;
static pid_t workload;
static FILE *to, *from;
static char answer[512];

static void start(void)
{
	int in[2], out[2];
	char preload[512];

	fake_daemon_open(&daemon_);
	CHECK(pipe(in) == 0 && pipe(out) == 0);
	snprintf(preload, sizeof(preload), "%s/libkfdshim.so", getenv("BUILD"));
	workload = fork();
	if (workload == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		setenv("LD_PRELOAD", preload, 1);
		execvp(workload_argv[0], workload_argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to = fdopen(in[1], "w");
	from = fdopen(out[0], "r");
}

static const char *tell(const char *order)
{
	fprintf(to, "%s\n", order);
	fflush(to);
	if (!fgets(answer, sizeof(answer), from))
		fake_failed(order, 0, "the workload is gone");
	answer[strcspn(answer, "\n")] = '\0';
	return answer;
}

static void end(void)
{
	int status;

	fprintf(to, "quit\n");
	fflush(to);
	CHECK(waitpid(workload, &status, 0) == workload && status == 0);
	fake_daemon_remove(&daemon_);
}

static bool hsa_queue_listed(uint64_t hsa_queue)
{
	struct lane_queue q;

	for (uint32_t i = 0; i < LANE_QUEUES; i++)
		if (lane_queue_read(daemon_.lane, i, &q) == 0 && q.hsa_queue == hsa_queue &&
		    q.type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL)
			return true;
	return false;
}

static int node_active(void)
{
	struct lane_node node;

	return lane_node_read(daemon_.lane, 0, &node) == 0 ? (int)(node.activity & 1) : -1;
}

static void create(void)
{
	uint64_t hsa_queue = strtoull(tell("queue"), NULL, 16);

	CHECK(fake_daemon_accept(&daemon_, 3000) == 0);
	EVENTUALLY(daemon_.lane->runtime != LANE_RUNTIME_UNKNOWN, 1000);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 2, 1000); /* its own, and ROCr's */
	CHECK(hsa_queue != 0 && hsa_queue_listed(hsa_queue));
}

/* Queues, their hsa_queue_t, and RUNTIME_ENABLE for a runtime that cannot. */
static void queues(void)
{
	start();
	create();
	CHECK(daemon_.lane->runtime == LANE_RUNTIME_ENABLED);
	CHECK(strcmp(tell("destroy"), "ok") == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	tell("queue");
	CHECK(fake_daemon_queue_count(&daemon_) == 2);
	end();
}

/*
 * What hooks find is there with the workload's answer, unless its thread is looking
 * just then: that serves the hook's request before it lets go of the lock, which on a
 * busy machine can take milliseconds. So it has to come in any case, and mostly at
 * once; the sampler alone would need 2 ms at least for an end, and never be at once.
 */
#define TIMES 20

static int at_once;

#define AT_ONCE(condition)                                                                         \
	do {                                                                                       \
		at_once += (condition);                                                            \
		EVENTUALLY(condition, 1000);                                                       \
	} while (0)

static void hooks(void)
{
	int silent, probed;

	start();
	create();
	for (int i = 0; i < TIMES; i++) {
		EVENTUALLY(node_active() == 0, 1000);
		tell("block");
		AT_ONCE(node_active() == 1);
		tell("finish");
		AT_ONCE(node_active() == 0);
	}
	CHECK(at_once * 4 >= 2 * TIMES * 3); /* begins or ends alone would be a half */
	tell("block");
	CHECK(sscanf(tell("ring 100000"), "%d %d", &silent, &probed) == 2);
	CHECK(silent == 0);
	CHECK(probed == 1); /* the instrument works */
	CHECK(strstr(tell("threads"), "kfdshim") != NULL);
	tell("finish");
	end();
}

/* Whatever hooks see nothing of: within some sampling periods. */
static void sampled(void)
{
	struct lane_queue q;

	start();
	create();
	for (int i = 0; i < 5; i++) {
		EVENTUALLY(node_active() == 0, 3000);
		tell("block");
		EVENTUALLY(node_active() == 1, 200);
		fake_sleep_us(20000);
		CHECK(node_active() == 1);
		tell("finish");
	}
	EVENTUALLY(node_active() == 0, 3000);
	for (uint32_t i = 0; i < LANE_QUEUES; i++)
		CHECK(lane_queue_read(daemon_.lane, i, &q) != 0 || q.hooked == 0);
	end();
}

static void forked(void)
{
	uint64_t activity;

	start();
	create();
	EVENTUALLY(node_active() == 0, 1000);
	activity = daemon_.lane->nodes[0].activity;
	tell("fork");
	CHECK(strncmp(answer, "threads ", 8) == 0);
	CHECK(strstr(answer, "kfdshim") == NULL); /* neither thread nor memfd */
	CHECK(strstr(answer, "socket") == NULL && strstr(answer, "eventfd") == NULL);
	CHECK(daemon_.lane->nodes[0].activity == activity);
	/* The parent's is as it was. */
	tell("block");
	CHECK(node_active() == 1);
	tell("finish");
	CHECK(node_active() == 0);
	end();
}

/* hsa_shut_down and hsa_init again. */
static void again(void)
{
	start();
	create();
	tell("destroy");
	CHECK(strcmp(tell("again"), "ok") == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 0);
	tell("queue");
	CHECK(fake_daemon_queue_count(&daemon_) == 2);
	tell("block");
	CHECK(node_active() == 1);
	tell("finish");
	CHECK(node_active() == 0);
	CHECK(daemon_.lane->runtime == LANE_RUNTIME_ENABLED);
	end();
}

IN_CHILD(queues)
IN_CHILD(hooks)
IN_CHILD(sampled)
IN_CHILD(forked)
IN_CHILD(again)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues),	cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_sampled), cmocka_unit_test(test_forked),
		cmocka_unit_test(test_again),
	};

	if (argc < 3 || !getenv("BUILD")) {
		fprintf(stderr, "usage: BUILD=... %s test_CASE WORKLOAD [ARGUMENT]\n", argv[0]);
		return 2;
	}
	workload_argv = argv + 2;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (strcmp(tests[i].name, argv[1]) == 0)
			return _cmocka_run_group_tests(argv[1], &tests[i], 1, NULL, NULL);
	fprintf(stderr, "no case %s\n", argv[1]);
	return 2;
}
