/* SPDX-License-Identifier: MIT */
/*
 * liburcu's read side and grace periods, as this agent uses them. liburcu is
 * not compiled with ThreadSanitizer's eyes, so where those are on, its order
 * is told to them; otherwise these are the plain calls.
 */
#ifndef KFDSHIM_SHIM_RCU_H
#define KFDSHIM_SHIM_RCU_H

#include <urcu-bp.h>
#include <urcu/rculfhash.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define rcu_told_before(address) __tsan_release((void *)(address))
#define rcu_told_after(address) __tsan_acquire((void *)(address))
#else
#define rcu_told_before(address) ((void)(address))
#define rcu_told_after(address) ((void)(address))
#endif

/* Stands for all grace periods. */
extern char queues_grace;

static inline void rcu_begin(void)
{
	rcu_read_lock();
}

static inline void rcu_end(void)
{
	rcu_told_before(&queues_grace);
	rcu_read_unlock();
}

/* Returns when every reader of before has ended. Not within one. */
static inline void rcu_wait(void)
{
	synchronize_rcu();
	rcu_told_after(&queues_grace);
}

#endif
