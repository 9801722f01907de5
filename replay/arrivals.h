/* SPDX-License-Identifier: MIT */
/*
 * When requests arrive in an open loop: an endless stream of times, the same
 * for the same seed. Pure. Model time, nanoseconds from the start of the run.
 */
#ifndef KFDSHIM_REPLAY_ARRIVALS_H
#define KFDSHIM_REPLAY_ARRIVALS_H

#include <stdint.h>

enum arrivals_kind { ARRIVALS_POISSON, ARRIVALS_FIXED };

struct arrivals {
	enum arrivals_kind kind;
	double gap_ns; /* mean */
	double at_ns;  /* the last one given out */
	uint64_t state;
};

void arrivals_start(struct arrivals *arrivals, enum arrivals_kind kind, double rate_per_s,
		    uint64_t seed);
/* The next arrival; the first is one gap after the start. */
uint64_t arrivals_next(struct arrivals *arrivals);

#endif
