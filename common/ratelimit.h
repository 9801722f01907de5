/* SPDX-License-Identifier: MIT */
/*
 * A rate limit: an event is allowed `burst` times at once, and once in each `period_ns` in the long
 * run. The state is the time at which the budget is full again (the generic cell rate algorithm,
 * ITU-T I.371), so that nothing has to be refilled. A budget that is all zero is full.
 *
 * Pure: no clock. Times are nanoseconds of one clock that never goes back. Threads: the caller
 * serialises the calls for a budget.
 */
#ifndef KFDSHIM_COMMON_RATELIMIT_H
#define KFDSHIM_COMMON_RATELIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct budget_rule {
	uint32_t burst;	    /* at least 1 */
	uint64_t period_ns; /* at least 1 */
};

struct budget {
	uint64_t full_ns;
};

/* Returns the first time, not before `now`, at which budget_take() succeeds. */
static inline uint64_t budget_next(const struct budget *budget, const struct budget_rule *rule,
				   uint64_t now)
{
	uint64_t ahead = (rule->burst - 1) * rule->period_ns;

	return budget->full_ns > now + ahead ? budget->full_ns - ahead : now;
}

/* Counts one event. Returns false if the limit is reached; the event does not count then. */
static inline bool budget_take(struct budget *budget, const struct budget_rule *rule, uint64_t now)
{
	if (budget_next(budget, rule, now) > now)
		return false;
	budget->full_ns = (budget->full_ns > now ? budget->full_ns : now) + rule->period_ns;
	return true;
}

/* Returns true if the budget is full, so that its state can be dropped. */
static inline bool budget_full(const struct budget *budget, uint64_t now)
{
	return budget->full_ns <= now;
}

#endif
