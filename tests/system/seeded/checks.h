/* SPDX-License-Identifier: MIT */
/*
 * What must hold in every run, checked whenever no thread can run:
 *  - a more urgent process works beside one that can be suspended for a bounded time only;
 *  - none stays suspended for longer than another after the last cause;
 *  - a DESTROY_QUEUE waits for its resume for a moment at most;
 *  - the worker's heart beats, and an executor that is stopped is killed;
 *  - neither the worker nor an executor nor an agent sleeps while there is something for it to
 *    do: a lane with a new value, a request, an outcome, an order;
 * and at the end all slots, counts and sessions are free.
 */
#ifndef KFDSHIM_TESTS_SEEDED_CHECKS_H
#define KFDSHIM_TESTS_SEEDED_CHECKS_H

#include <stdint.h>

struct check_bounds {
	uint64_t contention_ns; /* 0: not checked */
	uint64_t release_ns, destroy_ns;
	uint64_t order_ns; /* from an order in the lane to its answer */
};

void checks_begin(const struct check_bounds *bounds);
void checks_idle(void);
/* Something has happened that the daemon needs a moment for. */
void checks_disturbed(void);
/* All programs rest for so long that nothing may be suspended. */
void check_rest(void);
/* All programs have ended. */
void check_ended(void);
/* The worker has left, programs work: none is suspended, and each goes on. */
void check_without(void);
/* The worker has left, and so have the executors. */
void check_left(void);

#endif
