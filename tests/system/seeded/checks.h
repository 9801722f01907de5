/* SPDX-License-Identifier: MIT */
/*
 * Checks of what must hold in every run. They run whenever no fiber can run:
 *  - A more urgent process works beside one that can be suspended for a bounded time only.
 *  - No process stays suspended for longer than a limit after the last cause has ended.
 *  - A DESTROY_QUEUE waits only for a short time for the resume.
 *  - The worker's heartbeat continues, and a stopped executor is killed.
 *  - Neither the worker nor an executor nor an agent sleeps while there is something for it to do:
 *    a new value in a client's shared memory, a request, an outcome, an order.
 *
 * At the end of a run all slots, counts and sessions must be free.
 *
 * A check that fails calls fail() (process.h). Threads: fibers of one real thread (fiber.h).
 */
#ifndef KFDSHIM_TESTS_SEEDED_CHECKS_H
#define KFDSHIM_TESTS_SEEDED_CHECKS_H

#include <stdint.h>

/* The limits of one scenario; they depend on its driver and on what it kills. */
struct check_bounds {
	uint64_t contention_ns; /* ns for which contention may last; 0: not checked */
	uint64_t release_ns, destroy_ns;
	uint64_t hold_cmd_ns; /* ns from an order in the shared memory to its acknowledgement */
};

/* Starts the checks of a run with its limits. */
void checks_begin(const struct check_bounds *bounds);
/* Makes all checks once; the `idle` function of fiber_run(). */
void checks_idle(void);
/* Notes that something has happened for which the daemon needs time. */
void checks_disturbed(void);
/* Checks the state when all programs have rested for so long that none may be suspended. */
void check_rest(void);
/* Checks the state after all programs have ended. */
void check_ended(void);
/* Checks the state after the worker has left while programs work: none is suspended, and each
 * continues. */
void check_without(void);
/* Checks the state after the worker and the executors have left. */
void check_left(void);

#endif
