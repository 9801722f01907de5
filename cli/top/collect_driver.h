/* SPDX-License-Identifier: MIT */
/* Nodes and processes from the driver's files in sysfs. Used by collect.c only; contracts as in
 * collect.h. */
#ifndef KFDSHIM_CLI_TOP_COLLECT_DRIVER_H
#define KFDSHIM_CLI_TOP_COLLECT_DRIVER_H

#include "cli/top/snapshot.h"

struct driver;
struct driver *driver_open(void);	  /* returns NULL if there is no memory */
void driver_close(struct driver *driver); /* NULL is allowed */

/* Adds the values that the daemon does not report: nodes and their slots, processes that the daemon
 * does not know, with their queues, and the VRAM of all processes. Returns 0 or -ENOMEM. */
int driver_add(struct driver *driver, struct top_state *state);

#endif
