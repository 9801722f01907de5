/* SPDX-License-Identifier: MIT */
/*
 * A workload with libkfdshim.so preloaded and the real HSA runtime, on a (simulated)
 * GPU, and a test that plays the daemon and gives it its orders (workload.c,
 * ctypes_workload.py). What fails ends the child that a case runs in (mock_kfd.h).
 */
#ifndef KFDSHIM_TESTS_WORLD_H
#define KFDSHIM_TESTS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

struct world {
	struct fake_daemon daemon;
	char **argv; /* of the workload */
	pid_t workload;
	char answer[512];
	int at_once; /* of AT_ONCE, in this group */
	int turns;   /* of this group (world_again) */
	int groups;  /* that were not mostly at once */
};
extern struct world world;

/* With the libraries of BUILD, PRELOAD_BEFORE and PRELOAD_AFTER. */
void world_start(void);
/* Until it is there, with a queue more than the runtime's own: its hsa_queue_t. */
uint64_t world_create(void);
/* The workload ends, with 0. */
void world_end(void);
/* Its answer. world_order does not wait for it, world_answer does; world_answered:
 * is there one within so many ms? */
const char *world_tell(const char *order);
void world_order(const char *order);
const char *world_answer(void);
bool world_answered(int ms);

/* The entry of an AQL queue; false: it is not listed. */
bool world_queue(uint64_t hsa_queue, struct lane_queue *out);
bool world_listed(uint64_t hsa_queue);
bool world_some_queue_is(uint32_t state);
/* A word of the workload's memory, GTT or not: what process_vm_readv refuses, /proc has. */
uint64_t world_word(uint64_t address);
/* Is the first node active (-1: it is not there), and how often did that change? */
int world_active(void);
uint64_t world_changes(void);
/* As the daemon orders it, and it is carried out. */
void world_order_hold(enum lane_level level, bool hold);

/*
 * What hooks find is there with the workload's answer, unless its thread is looking
 * just then: that serves the hook's request before it lets go of the lock, which on a
 * busy machine can take milliseconds, and then something later is found first. So it
 * has to come in any case, and mostly at once in some group of turns: where a core is
 * away for a while, a whole group may be late. The sampler alone would need 2 ms at
 * least for an end, and never be at once.
 */
#define LATE_MS 1000
#define AT_ONCE(condition)                                                                         \
	do {                                                                                       \
		world.at_once += (condition);                                                      \
		EVENTUALLY(condition, LATE_MS);                                                    \
	} while (0)
/* Is there another turn? Groups of `turns`, with `looks` AT_ONCE each, until one group was
 * at once for three quarters; begins alone, or ends alone, would be one half. */
bool world_again(const char *what, int turns, int looks);
/* An order that makes work. By the time that we look, the queue may be told as
 * blocked already, so it is the change that counts. */
void world_tell_work(const char *order);

/* Runs one of the cases: PROGRAM CASE WORKLOAD [ARGUMENT]. An exit status. */
struct CMUnitTest;
int world_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n);

#endif
