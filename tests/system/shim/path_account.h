/* SPDX-License-Identifier: MIT */
/*
 * Compares the write pointers of a workload's queues, read from its memory, with what the shim has
 * reported in the events of its shared memory (struct client_shm). For a parent of the workload,
 * which is allowed to read its memory. A violation ends the test.
 */
#ifndef KFDSHIM_TESTS_PATH_ACCOUNT_H
#define KFDSHIM_TESTS_PATH_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/client_shm.h"

/* By how much write pointers have moved: AQL packets, and bytes of SDMA rings. */
struct account_moved {
	uint64_t packets, sdma_bytes;
};

/* Begins with queues that must be idle; what they did earlier is not counted. */
void account_begin(const struct client_shm *shm, pid_t workload);
/* Reads all write pointers, including those of new queues. Returns by how much they have moved
 * since the last call. */
struct account_moved account_read(void);
/* `ns`: the earliest time at which the last packet that account_read() has found can be over. An
 * IDLE event of it with an earlier time ends the test. */
void account_lasts_until(uint64_t ns);
/*
 * Reads the new events. Returns whether every queue is reported either as active, or as idle with
 * the write pointer that account_read() found last. An IDLE event with a later or an earlier write
 * pointer than possible ends the test.
 */
bool account_published(void);
/* Returns whether all queues are idle and everything, but nothing more, has been seen. */
bool account_closed(void);

#endif
