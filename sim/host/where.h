/* SPDX-License-Identifier: MIT */
/*
 * Reports where each thread of a simulation in virtual time waits, for a large advance of time or a
 * deadlock. The threads must be asleep.
 *
 * Threads: one at a time.
 */
#ifndef KFDSHIM_SIM_HOST_WHERE_H
#define KFDSHIM_SIM_HOST_WHERE_H

#include <jansson.h>
#include <stdbool.h>

struct sim;
struct idle;

/* Returns the threads in the format of docs/reference/kfdsim-report.md, as a new reference. */
json_t *where_threads_wait(const struct sim *sim, const struct idle *idle);
/* Writes a line for each of these threads to standard error. */
void where_log(const json_t *threads);

/* Returns true if only an event outside of kfdsim's knowledge can wake a thread. Returns false if a
 * thread waits for the machine's clock or for kfdsim's own standard input. */
bool where_is_deadlock(const struct sim *sim, const struct idle *idle);

#endif
