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

struct sim;
struct virtual_counts;

/* Releases what the counts refer to, not the structure itself. */
void virtual_counts_free(struct virtual_counts *counts);

/* Runs until @stop_fd is readable or no task is left under the seccomp filter. Closes sim->idle.
 * Returns 0 or a negative errno. */
int virtual_loop(struct sim *sim, int stop_fd);

#endif
