/* SPDX-License-Identifier: MIT */
/*
 * Measures for how long the host took the cores away from this machine (steal time). Load of this
 * machine itself is not counted.
 *
 * One thread on each core, with a real-time priority above those of kfdsim and kfdschedd, adds up
 * by how much its wakes were late. The steal time of /proc/stat is of no use here: for a core that
 * sleeps often it shows 8 % even on a quiet host.
 */
#ifndef KFDSHIM_TESTS_LIB_HOST_STALL_H
#define KFDSHIM_TESTS_LIB_HOST_STALL_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the measurement. To be called once in a process, by its first thread. Returns false if a
 * core cannot be watched, because the process has no right to real-time priorities. */
bool host_stall_watch(void);
/* Return the stalled time in ns since host_stall_watch(), including stalls that have not ended yet:
 * host_stall_worst_ns() of the core with the most, host_stall_sum_ns() of all cores together. Both
 * return 0 without host_stall_watch(). Any thread. */
uint64_t host_stall_worst_ns(void);
uint64_t host_stall_sum_ns(void);

#endif
