/* SPDX-License-Identifier: MIT */
/*
 * CPU placement for a simulation in virtual time whose threads take turns (kfdsim --seed).
 *
 * All threads of the simulation share one core, and each runs until it sleeps, so that threads that
 * are runnable at the same instant run in the order in which they were woken. A thread that runs
 * for 100 ms without a sleep goes behind the others (sched_rr_timeslice_ms). This needs the
 * privilege to set a real-time priority. Without the privilege, the threads are only not preempted
 * by each other's wake-ups (SCHED_BATCH). The supervisor uses the other cores.
 *
 * Failures are ignored.
 */
#ifndef KFDSHIM_SIM_HOST_CORES_H
#define KFDSHIM_SIM_HOST_CORES_H

/* Applies the placement of the simulation to the calling process and its future children. */
void cores_of_sim(void);
/* Excludes the simulation's core from the calling thread's affinity, if there is another core. */
void cores_of_supervisor(void);

#endif
