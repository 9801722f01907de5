/* SPDX-License-Identifier: MIT */
/* What the driver's own files tell of nodes and processes, for gather.c alone. Contracts as
 * there. */
#ifndef KFDSHIM_TOP_GATHER_DRIVER_H
#define KFDSHIM_TOP_GATHER_DRIVER_H

#include "scheduler/top/state.h"

struct driver;
struct driver *driver_open(void);
void driver_close(struct driver *driver); /* NULL is allowed */

/* Adds what the daemon has not told: nodes and their slots, processes that it does not know
 * with their queues, and memory of all. 0 or -ENOMEM. */
int driver_add(struct driver *driver, struct top_state *state);

#endif
