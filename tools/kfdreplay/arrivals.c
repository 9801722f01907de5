// SPDX-License-Identifier: MIT
#include "tools/kfdreplay/arrivals.h"

#include <math.h>

/* splitmix64 (Steele, Lea, Flood 2014). Any seed is good, also 0. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void arrivals_start(struct arrivals *arrivals, enum arrivals_kind kind, double rate_per_s,
		    uint64_t seed)
{
	*arrivals = (struct arrivals){.kind = kind, .gap_ns = 1e9 / rate_per_s, .state = seed};
	if (kind == ARRIVALS_BURSTY)
		arrivals->gap_ns *= (double)ARRIVALS_BURST_NS / ARRIVALS_PERIOD_NS;
}

void arrivals_start_recorded(struct arrivals *arrivals, const struct arrivals_gaps *gaps,
			     double rate_per_s, uint64_t seed)
{
	arrivals_start(arrivals, ARRIVALS_RECORDED, rate_per_s, seed);
	arrivals->gaps = gaps;
	if (seed > 1)
		arrivals->next = (size_t)(next_random(&arrivals->state) % gaps->count);
}

static double next_gap_ns(struct arrivals *arrivals)
{
	const struct arrivals_gaps *gaps = arrivals->gaps;
	double u, gap;

	switch (arrivals->kind) {
	case ARRIVALS_POISSON:
	case ARRIVALS_BURSTY:
		/* u is in (0, 1], so that the logarithm of 0 cannot occur. */
		u = ((double)(next_random(&arrivals->state) >> 11) + 1) * 0x1p-53;
		return arrivals->gap_ns * -log(u);
	case ARRIVALS_RECORDED:
		gap = gaps->ns[arrivals->next];
		arrivals->next = (arrivals->next + 1) % gaps->count;
		return arrivals->gap_ns * gap / gaps->mean_ns;
	case ARRIVALS_FIXED:
		break;
	}
	return arrivals->gap_ns;
}

uint64_t arrivals_next(struct arrivals *arrivals)
{
	arrivals->at_ns += next_gap_ns(arrivals);
	if (arrivals->kind != ARRIVALS_BURSTY)
		return (uint64_t)arrivals->at_ns;
	return (uint64_t)arrivals->at_ns / ARRIVALS_BURST_NS * ARRIVALS_PERIOD_NS +
	       (uint64_t)arrivals->at_ns % ARRIVALS_BURST_NS;
}
