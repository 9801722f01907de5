/* SPDX-License-Identifier: MIT */
/*
 * Lock-free readers of the queue table, and a wait for them: before memory that a queue points to
 * is freed, every reader that may have found the queue must have ended.
 *
 * There are two counters of readers, and an index that selects the counter for new readers. The
 * waiting thread flips the index and waits until the other counter is 0, twice, because a reader
 * that has read the index before a flip and counts itself after it can be in either counter.
 * Readers come here only when something changes (a queue becomes active or idle), so one shared
 * cache line is cheap enough. A read lasts for a few memory accesses.
 *
 * Threads: any, with or without locks, also in signal handlers.
 */
#ifndef KFDSHIM_SHIM_RCU_H
#define KFDSHIM_SHIM_RCU_H

#include <stdbool.h>
#include <stdint.h>

struct rcu {
	uint32_t turn; /* number of flips; the low bit is the index */
	/* readers that are counted by each index */
	uint32_t readers[2];
} __attribute__((aligned(64)));
extern struct rcu rcu;

/* Begins a read. Reads may be nested.
 * Returns the value to pass to rcu_end(). */
static inline uint32_t rcu_begin(void)
{
	uint32_t index = __atomic_load_n(&rcu.turn, __ATOMIC_SEQ_CST) & 1;

	__atomic_add_fetch(&rcu.readers[index], 1, __ATOMIC_SEQ_CST);
	return index;
}

/* Ends a read; @index is what rcu_begin() returned. */
static inline void rcu_end(uint32_t index)
{
	__atomic_sub_fetch(&rcu.readers[index], 1, __ATOMIC_SEQ_CST);
}

/* Waits for all readers that began before the call, at most 100 ms. Not within a read.
 * Returns true if all of them have ended. False: a reader is stopped in a debugger, or a signal
 * handler has jumped out of its read, which then never ends; what the reader may have found must
 * stay in memory. */
bool rcu_wait(void);

/* In a fork child: forgets the readers, which are threads of the parent. */
void rcu_forget(void);

#endif
