/* SPDX-License-Identifier: MIT */
/*
 * Learns how long the gaps between two spans of more urgent work are, and calculates from that the
 * hold-over: for how long a gang (processes held together) stays held when such a gap begins.
 *
 * A gang that is released after a time h of the gap can run for the rest of the gap, less the
 * duration of its resume. The release delays the more urgent work by the next suspension, and, if
 * the gap ends while the gang is being resumed, by the rest of the resume, too. It can also cost
 * other gangs time.
 *
 * Pure: no state but the caller's. Times are nanoseconds. Threads: the caller serialises the calls
 * for a struct gaps.
 */
#ifndef KFDSHIM_COMMON_GAPS_H
#define KFDSHIM_COMMON_GAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Number of buckets. The first one ends at 8 us; then come two for each doubling, up to 8 s. */
#define GAPS_BUCKETS 42u
#define GAPS_WEIGHT_MAX 1000u /* a higher weight could overflow the sums */

/* A histogram of the gaps between spans of more urgent work, in which old gaps lose weight. All
 * zero: no gap is known. */
struct gaps {
	uint32_t missed; /* number of missed gaps in a row up to now; gaps_missed() */
	uint32_t total;	 /* sum of the counts */
	uint64_t known;	 /* bit n: counts[n] is not 0 */
	uint32_t counts[GAPS_BUCKETS];
	uint64_t means_ns[GAPS_BUCKETS]; /* mean of the gaps in a bucket */
};

/* Costs of releasing a gang (processes held together) in a gap between spans of more urgent work. A
 * time above an hour counts as an hour. */
struct gaps_costs {
	uint64_t resume_ns;  /* run time that the gang loses by the resume */
	uint64_t suspend_ns; /* delay of the more urgent work by the next suspension */
	uint32_t weight;     /* factor of suspend_ns in the sum of costs; at most GAPS_WEIGHT_MAX */
	uint64_t others_ns;  /* run time that other gangs lose by it, on the scale of resume_ns */
};

/* Adds a gap to the histogram. At every 128th gap all counts are halved. */
void gaps_learn(struct gaps *gaps, uint64_t gap_ns);

/* Updates *cost_ns, the mean duration of a call in ns, by a new duration, which has a weight of
 * 1/8. A mean of 0 means that no duration is known; the first duration then becomes the mean. */
void gaps_cost_learn(uint64_t *cost_ns, uint64_t duration_ns);

/*
 * Records that a gap has ended. `missed`: the gang was not released in this gap. At the 64th missed
 * gap in a row both learned costs are halved, because one slow call can make a gang appear too
 * costly for every gap, and then no further call would correct the cost.
 */
void gaps_missed(struct gaps *gaps, bool missed, uint64_t *suspend_ns, uint64_t *resume_ns);

/*
 * Returns the hold-over in ns for which the expected gain is highest. The result is at most
 * resume_ns + others_ns + weight * suspend_ns, and equal to that bound if fewer than four gaps are
 * known, or if no time promises a gain. A hold-over of that bound has cost as much as a release
 * does (the ski rental problem), so the loss is at most twice the least possible loss, plus the
 * cost of a gap that ends while the gang is being resumed.
 */
uint64_t gaps_hold_ns(const struct gaps *gaps, const struct gaps_costs *costs);

#endif
