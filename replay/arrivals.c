// SPDX-License-Identifier: MIT
#include "replay/arrivals.h"

#include <math.h>

void arrivals_start(struct arrivals *arrivals, enum arrivals_kind kind, double rate_per_s,
		    uint64_t seed)
{
	*arrivals = (struct arrivals){.kind = kind, .gap_ns = 1e9 / rate_per_s, .state = seed};
}

/* splitmix64 (Steele, Lea, Flood 2014): any seed will do, 0 included. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t arrivals_next(struct arrivals *arrivals)
{
	double gap = arrivals->gap_ns;

	if (arrivals->kind == ARRIVALS_POISSON) {
		/* (0, 1]: never the logarithm of 0 */
		double u = ((double)(next_random(&arrivals->state) >> 11) + 1) * 0x1p-53;

		gap *= -log(u);
	}
	arrivals->at_ns += gap;
	return (uint64_t)arrivals->at_ns;
}
