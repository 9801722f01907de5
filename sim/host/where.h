/* SPDX-License-Identifier: MIT */
/*
 * Where each thread of a virtual world waits: for the report, where time has gone far or the world
 * stands still. The threads must be asleep. One thread.
 */
#ifndef KFDSHIM_SIM_HOST_WHERE_H
#define KFDSHIM_SIM_HOST_WHERE_H

#include <jansson.h>
#include <stdbool.h>

struct world;
struct idle;

/* The threads as docs/formats.md has them; a new reference. */
json_t *where_threads_wait(const struct world *world, const struct idle *idle);
/* Writes a line for each of these threads to standard error. */
void where_say(const json_t *threads);

/* Can only something that kfdsim does not know wake a thread? False: one waits for the machine's
 * clock, or for kfdsim's own standard input. */
bool where_is_deadlock(const struct world *world, const struct idle *idle);

#endif
