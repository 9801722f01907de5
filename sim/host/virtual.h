/* SPDX-License-Identifier: MIT */
/*
 * The main loop of a simulation in virtual time: one thread that serves the calls of the
 * simulation's processes, and advances the clock when none of their threads can run.
 *
 * One round:
 *  1. serve the pending calls;
 *  2. prove that all threads are idle (idle.h); if they are not, go to 1;
 *  3. read the doorbells, and let everything happen that is due now; if that has woken a thread,
 *     go to 1;
 *  4. wake the first thread whose wait has ended; if there is one, go to 1;
 *  5. advance the clock to the next GPU event or the next end of a wait, and let it happen.
 *
 * A process that runs for a long time without a driver call (it computes, or polls memory or the
 * processor's own counter) does not stop the clock: the next event happens all the same. This also
 * applies to many processes that together keep the simulation busy, such as a fork storm. Such a
 * round is called forced. It is counted, and the process is named in the report, because what
 * happens then depends on the speed of the machine.
 */
#ifndef KFDSHIM_SIM_HOST_VIRTUAL_H
#define KFDSHIM_SIM_HOST_VIRTUAL_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct sim;

#define VIRTUAL_NAMED 8 /* number of processes; the last entry stands for all others */

struct virtual_named {
	char command[16];
	uint64_t rounds;
};

struct virtual_counts {
	uint64_t rounds; /* rounds with a proof that no thread could run */
	uint64_t busy;	 /* proofs that failed */
	uint64_t forced; /* forced rounds: a process ran too long for a proof */
	uint64_t outrun; /* rounds without a proof in which only a charge ended */
	uint64_t wakes;	 /* threads and timers whose time had come */
	/* Waits for events outside of the simulation, without any event left inside. */
	uint64_t waits;
	uint64_t proof_ns;			      /* real time of all successful proofs */
	struct virtual_named spinners[VIRTUAL_NAMED]; /* processes for which rounds were forced */
	/* Processes that were stopped while time passed. */
	struct virtual_named stopped[VIRTUAL_NAMED];
	/* Advances of time by more than 100 s at once. */
	uint64_t jumps;
	json_t *first_jumps; /* the first jumps, with the places where the threads waited */
	json_t *standstill;  /* where the threads waited in a deadlock; NULL: no deadlock */
	json_t *bypasses;    /* see bypass.h; NULL until the loop has ended */
};

/* Releases what the counts refer to, not the structure itself. */
void virtual_counts_free(struct virtual_counts *counts);

/* Runs until @stop_fd is readable or no task is left under the seccomp filter. Closes sim->idle.
 * Returns 0 or a negative errno. */
int virtual_loop(struct sim *sim, int stop_fd);

#endif
