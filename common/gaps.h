/* SPDX-License-Identifier: MIT */
/*
 * How long the gaps between two spans of more urgent work are, as learned, and what follows:
 * for how long to hold a unit on when such a gap begins.
 *
 * Letting it go when the gap has lasted for h gains what is then left of the gap, without the
 * way back; it costs the more urgent work the next suspension, and if the gap ends while the
 * unit is on its way, the rest of that way, too.
 *
 * Pure: no state but the caller's. Times are nanoseconds.
 */
#ifndef KFDSHIM_COMMON_GAPS_H
#define KFDSHIM_COMMON_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#define GAPS_BUCKETS 42u      /* up to 8 us, then half octaves, up to 8 s and more */
#define GAPS_WEIGHT_MAX 1000u /* or sums could overflow */

/* A histogram that forgets. All zero: none is known. */
struct gaps {
	uint32_t missed; /* the last so many, in a row */
	uint32_t total;	 /* of the counts */
	uint64_t known;	 /* bit: that bucket has some */
	uint32_t counts[GAPS_BUCKETS];
	uint64_t means_ns[GAPS_BUCKETS];
};

/* Of letting the unit go. Above an hour they count as an hour. */
struct gaps_costs {
	uint64_t resume_ns;  /* of its own time */
	uint64_t suspend_ns; /* of the more urgent work's time */
	uint32_t weight;     /* of that against its own; at most GAPS_WEIGHT_MAX */
};

/* Half of all that is known is forgotten at every 128th gap. */
void gaps_learn(struct gaps *gaps, uint64_t gap_ns);

/* What a call costs: a mean in which a new duration counts an eighth; 0: not known. */
void gaps_cost_learn(uint64_t *cost_ns, uint64_t duration_ns);

/*
 * A gap has ended, and the unit was held to its end, or was not. One slow call can make a unit too
 * costly for every gap, and then no further call shows that it was slow only once: at the 64th gap
 * in a row that it missed both costs become half.
 */
void gaps_missed(struct gaps *gaps, bool missed, uint64_t *suspend_ns, uint64_t *resume_ns);

/*
 * For how long to hold on: the time of the highest expected gain, but never for longer than
 * resume_ns + weight * suspend_ns, which is also the answer if fewer than four gaps are known, or
 * no time promises a gain. At that bound being held has cost as much as letting go does (ski
 * rental): twice the least is lost at most, and what a gap costs that ends while the unit is on
 * its way.
 */
uint64_t gaps_hold_ns(const struct gaps *gaps, const struct gaps_costs *costs);

#endif
