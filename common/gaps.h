/* SPDX-License-Identifier: MIT */
/*
 * Learns how long the gaps between two spans of more urgent work are, and calculates from that the
 * hold-over: for how long a gang is held on when such a gap begins.
 *
 * To release the gang when the gap has lasted for a time h gains the rest of the gap, less the
 * duration of the resume. It costs the more urgent work the next suspension, and, if the gap ends
 * while the gang is being resumed, the rest of the resume, too. It can cost other gangs time.
 *
 * Pure: no state but the caller's. Times are nanoseconds. Threads: the caller serialises the calls
 * for a struct gaps.
 */
#ifndef KFDSHIM_COMMON_GAPS_H
#define KFDSHIM_COMMON_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#define GAPS_BUCKETS 42u      /* up to 8 us, then half octaves, up to 8 s and more */
#define GAPS_WEIGHT_MAX 1000u /* sums could overflow with more */

/* A histogram of gaps in which old gaps lose weight. All zero: no gap is known. */
struct gaps {
	uint32_t missed; /* length of the present row of missed gaps; gaps_missed() */
	uint32_t total;	 /* sum of the counts */
	uint64_t known;	 /* bit: the count of that bucket is not 0 */
	uint32_t counts[GAPS_BUCKETS];
	uint64_t means_ns[GAPS_BUCKETS]; /* mean of the gaps in a bucket */
};

/* Costs of a release. A time above an hour counts as an hour. */
struct gaps_costs {
	uint64_t resume_ns;  /* cost in the gang's own time */
	uint64_t suspend_ns; /* cost in the more urgent work's time */
	uint32_t weight;     /* weight of suspend_ns against resume_ns; at most GAPS_WEIGHT_MAX */
	uint64_t others_ns;  /* cost in other gangs' time, in units of the gang's own */
};

/* Adds a gap. At every 128th gap all counts are halved. */
void gaps_learn(struct gaps *gaps, uint64_t gap_ns);

/* Updates a learned cost by the duration of a call, in ns: a mean in which a new duration has a
 * weight of 1/8. 0: no duration is known; the first one is taken as it is. */
void gaps_cost_learn(uint64_t *cost_ns, uint64_t duration_ns);

/*
 * Records that a gap has ended; missed: the gang was held over to its end. At the 64th missed gap
 * in a row both learned costs are halved, because one slow call can make a gang too costly for
 * every gap, and then no further call would show that it was slow only once.
 */
void gaps_missed(struct gaps *gaps, bool missed, uint64_t *suspend_ns, uint64_t *resume_ns);

/*
 * Returns the hold-over in ns: the time of the highest expected gain, at most
 * resume_ns + others_ns + weight * suspend_ns. That bound is also the result if fewer than four
 * gaps are known, or if no time promises a gain. At the bound the hold-over has cost as much as a
 * release does (ski rental), so the loss is at most twice the least possible one, plus the cost of
 * a gap that ends while the gang is being resumed.
 */
uint64_t gaps_hold_ns(const struct gaps *gaps, const struct gaps_costs *costs);

#endif
