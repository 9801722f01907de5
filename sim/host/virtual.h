/* SPDX-License-Identifier: MIT */
/*
 * The loop of a world in virtual time: one thread that serves the world's calls, and moves the
 * clock when no thread of the world can run.
 *
 * A round:
 *  1. serve what has been called;
 *  2. prove that the world is idle (idle.h); if it is not, go back to 1;
 *  3. read the doorbells, and let happen what is due now; if that has woken a thread, go to 1;
 *  4. wake the first thread whose wait is over; if there is one, go to 1;
 *  5. move the clock to the next event of a GPU or the next end of a wait, and let it happen.
 *
 * A process that runs for long without a call of the driver (it computes, or spins on memory or
 * on the processor's own counter) is given the next event all the same; so are many that keep the
 * world busy by turns, as a fork storm does. Such a round is forced:
 * it is counted and the process named, because what happens then depends on the machine.
 */
#ifndef KFDSHIM_SIM_HOST_VIRTUAL_H
#define KFDSHIM_SIM_HOST_VIRTUAL_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct world;

#define VIRTUAL_NAMED 8 /* processes; the last one stands for all others */

struct virtual_named {
	char command[16];
	uint64_t rounds;
};

struct virtual_counts {
	uint64_t rounds;   /* proofs of idleness that held */
	uint64_t busy;	   /* that did not */
	uint64_t forced;   /* rounds without one */
	uint64_t outrun;   /* those in which only a charge ended */
	uint64_t wakes;	   /* of threads whose wait was over */
	uint64_t waits;	   /* for what is outside of the world: no event was left */
	uint64_t proof_ns; /* real time, of all proofs that held */
	struct virtual_named spinners[VIRTUAL_NAMED]; /* for which rounds were forced */
	struct virtual_named stopped[VIRTUAL_NAMED];  /* while time passed */
	uint64_t jumps;				      /* of time by more than 100 s, */
	json_t *first_jumps; /* and the first of them, with where the threads waited */
	json_t *standstill;  /* where they waited in a deadlock; NULL: there was none */
	json_t *bypasses;    /* bypass.h; NULL until the loop has ended */
};

/* What the counts hold, not themselves. */
void virtual_counts_free(struct virtual_counts *counts);

/* Runs until @stop_fd is readable or no task is left under the filter. 0 or a negative errno. */
int virtual_loop(struct world *world, int stop_fd);

#endif
