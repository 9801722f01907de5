/* SPDX-License-Identifier: MIT */
/*
 * Fixture: a workload with libkfdshim.so preloaded and the real HSA runtime, on a (simulated) GPU,
 * and a test that acts as the daemon and orders the workload (workload.c, ctypes_workload.py) what
 * to do. A failure ends the child that a test runs in (mock_kfd.h).
 */
#ifndef KFDSHIM_TESTS_TESTBED_H
#define KFDSHIM_TESTS_TESTBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

/* State of the fixture; one workload at a time. */
struct testbed {
	struct fake_daemon daemon;
	char **argv; /* arguments of the workload */
	pid_t workload;
	char reply[512];
	int at_once; /* number of AT_ONCE conditions of this group that held at once */
	int turns;   /* number of turns in this group (see testbed_repeat()) */
	/* number of successive groups in which fewer than three quarters held at once */
	int groups;
};
extern struct testbed testbed;

/* Starts the workload with the libraries of BUILD, PRELOAD_BEFORE and PRELOAD_AFTER. */
void testbed_start(void);
/* Creates a queue and waits until it is listed, beside the runtime's own queue. Returns its
 * hsa_queue_t. */
uint64_t testbed_create(void);
/* Ends the workload, which must exit with 0. */
void testbed_end(void);
/* testbed_query() sends an order and returns its answer. testbed_send() does not wait for it,
 * testbed_reply() does. testbed_has_reply() returns whether there is an answer within `ms`. */
const char *testbed_query(const char *command);
void testbed_send(const char *command);
const char *testbed_reply(void);
bool testbed_has_reply(int ms);

/* Return the entry of an AQL queue, whether it is listed, and whether a queue has this state. */
bool testbed_queue(uint64_t hsa_queue, struct client_shm_queue *out);
bool testbed_listed(uint64_t hsa_queue);
bool testbed_some_queue_is(uint32_t state);
/* Returns a word of the workload's memory, also of GTT: read through /proc, because
 * process_vm_readv refuses GTT. */
uint64_t testbed_word(uint64_t address);
/* Return whether the first node is active (-1: there is no node), and the number of changes of
 * that. */
int testbed_active(void);
uint64_t testbed_changes(void);
/* Sends an order of the daemon and waits until the workload has executed it. */
void testbed_command_hold(enum client_shm_level level, bool hold);

/*
 * What a hook finds is published before the workload's answer, unless the agent's thread holds the
 * lock then: that thread serves the hook's request before it releases the lock, which can take
 * milliseconds on a busy machine, and a later event may be found first. Therefore the condition
 * must become true in any case, and must mostly be true at once in some group of turns: if a core
 * is taken away for a while, a whole group may be late. The sampler alone would need at least 2 ms
 * for an end, so it is never at once.
 */
#define LATE_MS 1000
#define AT_ONCE(condition)                                                                         \
	do {                                                                                       \
		testbed.at_once += (condition);                                                    \
		EVENTUALLY(condition, LATE_MS);                                                    \
	} while (0)
/* Returns whether another turn is needed: groups of `turns` turns with `polls` AT_ONCE each, until
 * in one group three quarters were at once. Begins alone, or ends alone, would be only one half. */
bool testbed_repeat(const char *what, int turns, int polls);
/* Sends an order that makes work. When this thread checks, the queue may already be reported as
 * blocked, so the number of changes is checked. */
void testbed_start_work(const char *command);

/* Runs one of the tests: PROGRAM CASE WORKLOAD [ARGUMENT]. Returns an exit status. */
struct CMUnitTest;
int testbed_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n);

#endif
