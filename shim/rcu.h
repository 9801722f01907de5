/* SPDX-License-Identifier: MIT */
/*
 * Readers of the table of queues that take no lock, and who waits until they are
 * through: before the memory that a queue points to goes, every reader that can have
 * found the queue has ended.
 *
 * Two counters of readers, and an index that says which one counts newcomers. Who
 * waits turns the index and waits for the other counter to be 0, twice: a reader that
 * has read the index and counts itself late is in either. Readers come here only when
 * something changes (a queue becomes active or idle), so one shared line is cheap
 * enough; a read is some memory accesses long.
 *
 * Threads: any, with or without locks, in signal handlers too.
 */
#ifndef KFDSHIM_SHIM_RCU_H
#define KFDSHIM_SHIM_RCU_H

#include <stdbool.h>
#include <stdint.h>

struct rcu {
	uint32_t turn; /* its low bit is the index */
	uint32_t readers[2];
} __attribute__((aligned(64)));
extern struct rcu rcu;

/* What rcu_end wants back. Reads may be nested. */
static inline uint32_t rcu_begin(void)
{
	uint32_t index = __atomic_load_n(&rcu.turn, __ATOMIC_SEQ_CST) & 1;

	__atomic_add_fetch(&rcu.readers[index], 1, __ATOMIC_SEQ_CST);
	return index;
}

static inline void rcu_end(uint32_t index)
{
	__atomic_sub_fetch(&rcu.readers[index], 1, __ATOMIC_SEQ_CST);
}

/* true: every reader of before has ended. false: one has not in 100 ms. It stands in a debugger, or has
 * left its read by a jump out of a signal handler and will never end it; what it may have found must
 * stay in memory. Not within a read. */
bool rcu_wait(void);

/* Fork child: the parent's readers are not here. */
void rcu_forget(void);

#endif
