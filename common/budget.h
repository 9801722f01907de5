/* SPDX-License-Identifier: MIT */
/*
 * How often something may happen: `burst` times at once, and once in each `period_ns`
 * in the long run. A budget that is all zero is full. Kept as the time at which it is full
 * again (the generic cell rate algorithm, ITU-T I.371), so there is nothing to refill.
 *
 * Pure: no clock. Times are nanoseconds of one clock that never goes back. Threads: the
 * caller guards it.
 */
#ifndef KFDSHIM_COMMON_BUDGET_H
#define KFDSHIM_COMMON_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget_rule {
	uint32_t burst;	    /* at least 1 */
	uint64_t period_ns; /* at least 1 */
};

struct budget {
	uint64_t full_ns;
};

/* The first time from `now` on at which there is something to take. */
static inline uint64_t budget_next(const struct budget *budget, const struct budget_rule *rule,
				   uint64_t now)
{
	uint64_t ahead = (rule->burst - 1) * rule->period_ns;

	return budget->full_ns > now + ahead ? budget->full_ns - ahead : now;
}

/* Takes one; false: nothing is left, and nothing was taken. */
static inline bool budget_take(struct budget *budget, const struct budget_rule *rule, uint64_t now)
{
	if (budget_next(budget, rule, now) > now)
		return false;
	budget->full_ns = (budget->full_ns > now ? budget->full_ns : now) + rule->period_ns;
	return true;
}

/* Is it as if nothing had ever been taken? */
static inline bool budget_full(const struct budget *budget, uint64_t now)
{
	return budget->full_ns <= now;
}

#endif
