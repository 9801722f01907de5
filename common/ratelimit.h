/* SPDX-License-Identifier: MIT */
/*
 * A rate limit: an event is allowed `burst` times at once, and once in each `period_ns` in the long
 * run. The budget is the number of events that are allowed at once at present. The state is the
 * time at which the budget is full again (the generic cell rate algorithm, ITU-T I.371), so that
 * nothing has to be refilled. A struct ratelimit that is all zero has a full budget.
 *
 * Pure: no clock. Times are nanoseconds of one clock that never goes back. Threads: the caller
 * serialises the calls for a budget.
 */
#ifndef KFDSHIM_COMMON_RATELIMIT_H
#define KFDSHIM_COMMON_RATELIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct ratelimit_rule {
	uint32_t burst;	    /* at least 1 */
	uint64_t period_ns; /* at least 1 */
};

struct ratelimit {
	uint64_t full_ns;
};

/* Returns the first time, not before `now`, at which ratelimit_take() succeeds. */
static inline uint64_t ratelimit_next(const struct ratelimit *ratelimit,
				      const struct ratelimit_rule *rule, uint64_t now)
{
	uint64_t ahead = (rule->burst - 1) * rule->period_ns;

	return ratelimit->full_ns > now + ahead ? ratelimit->full_ns - ahead : now;
}

/* Counts one event. Returns false if the limit is reached; the event does not count then. */
static inline bool ratelimit_take(struct ratelimit *ratelimit, const struct ratelimit_rule *rule,
				  uint64_t now)
{
	if (ratelimit_next(ratelimit, rule, now) > now)
		return false;
	ratelimit->full_ns =
		(ratelimit->full_ns > now ? ratelimit->full_ns : now) + rule->period_ns;
	return true;
}

/* Returns true if the budget is full, so that the state can be dropped and begun anew as zero. */
static inline bool ratelimit_full(const struct ratelimit *ratelimit, uint64_t now)
{
	return ratelimit->full_ns <= now;
}

#endif
