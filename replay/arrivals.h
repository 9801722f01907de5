/* SPDX-License-Identifier: MIT */
/*
 * When requests arrive in an open loop: an endless stream of times, the same
 * for the same seed. Pure. Model time, nanoseconds from the start of the run.
 */
#ifndef KFDSHIM_REPLAY_ARRIVALS_H
#define KFDSHIM_REPLAY_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

/* Bursty: Poisson arrivals for the first part of each period, none for the rest; the rate is
 * that of the whole. */
#define ARRIVALS_BURST_NS 200000000u
#define ARRIVALS_PERIOD_NS 500000000u

enum arrivals_kind { ARRIVALS_POISSON, ARRIVALS_FIXED, ARRIVALS_BURSTY, ARRIVALS_RECORDED };

/* Recorded distances between arrivals; used again from the first when they are over. */
struct arrivals_gaps {
	double *ns;
	size_t count; /* > 0 */
	double mean_ns;
};

struct arrivals {
	enum arrivals_kind kind;
	double gap_ns; /* mean */
	double at_ns;  /* the last one given out; bursty: without the pauses */
	uint64_t state;
	const struct arrivals_gaps *gaps; /* recorded: borrowed */
	size_t next;			  /* of gaps */
};

/* A kind other than recorded. */
void arrivals_start(struct arrivals *arrivals, enum arrivals_kind kind, double rate_per_s,
		    uint64_t seed);
/* The gaps in their order, all longer or shorter by one factor, so that their mean gives the rate.
 * Seeds 0 and 1 begin with the first gap, others anywhere. */
void arrivals_start_recorded(struct arrivals *arrivals, const struct arrivals_gaps *gaps,
			     double rate_per_s, uint64_t seed);
/* The next arrival; the first is one gap after the start. */
uint64_t arrivals_next(struct arrivals *arrivals);

#endif
