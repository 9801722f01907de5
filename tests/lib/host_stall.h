/* SPDX-License-Identifier: MIT */
/*
 * How long the host had taken this machine's cores away: no load of our own counts.
 *
 * A thread for each core, above the real-time priorities of kfdsim and kfdschedd, sums up
 * by how much it woke late. (What /proc/stat says was stolen does not tell: a core that
 * sleeps often is 8 % stolen on a quiet host.)
 */
#ifndef KFDSHIM_TESTS_LIB_HOST_STALL_H
#define KFDSHIM_TESTS_LIB_HOST_STALL_H

#include <stdbool.h>
#include <stdint.h>

/* From now on. false: there is no right to real-time priority, so little is known. Once in
 * a process, by its first thread. */
bool away_watch(void);
/* Of the core that was away longest, and of all together, until now; also what is not over
 * yet. 0 without away_watch(). Any thread. */
uint64_t away_worst_ns(void);
uint64_t away_sum_ns(void);

#endif
