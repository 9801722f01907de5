/* SPDX-License-Identifier: MIT */
/*
 * The books of a workload's queues: what their write pointers are, read from its
 * memory, and what the shim has told of them, in the events of its lane. For a
 * parent of the workload, which may read it.
 */
#ifndef KFDSHIM_TESTS_PATH_ACCOUNT_H
#define KFDSHIM_TESTS_PATH_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/lane.h"

/* What the write pointers moved by: AQL packets, and bytes of SDMA rings. */
struct account_moved {
	uint64_t packets, sdma_bytes;
};

/* Begins with queues that are idle; what they did before is not counted. */
void account_begin(const struct lane *lane, pid_t workload);
/* Reads all write pointers, those of new queues too; what they moved by since the
 * last call. */
struct account_moved account_read(void);
/* The last packet of what account_read has found is not over before then: an IDLE of it
 * that is older ends the test. */
void account_lasts_until(uint64_t ns);
/*
 * Takes the events that are new. Is every queue either told as active, or as idle
 * with the write pointer that account_read last found? An IDLE beyond it, or one
 * that goes back, ends the test.
 */
bool account_told(void);
/* All queues, and no more than that: idle, everything seen. */
bool account_closed(void);

#endif
