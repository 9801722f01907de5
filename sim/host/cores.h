/* SPDX-License-Identifier: MIT */
/*
 * Where the threads of a world in virtual time take turns (kfdsim --seed). All of them share one
 * core, and one runs until it sleeps, so that of several that can run at one instant the order is
 * that in which they were woken. One that runs for 100 ms without a sleep goes behind the others
 * (sched_rr_timeslice_ms). That takes the right to a real-time priority; without it they are only
 * not preempted by each other's wake-ups. The supervisor has the other cores.
 */
#ifndef KFDSHIM_SIM_HOST_CORES_H
#define KFDSHIM_SIM_HOST_CORES_H

/* Of the calling process and those that it creates: the world's. */
void cores_of_world(void);
/* Of the calling thread: any but that one, if there is another. */
void cores_of_supervisor(void);

#endif
