/* SPDX-License-Identifier: MIT */
/*
 * The configuration in force, and how another one comes to be: the watchdog has a child
 * read the file, because names of users may have to be asked for over a network, and
 * nothing in a file may harm who looks after the worker. What is good is in force from
 * then on, for this worker (SIGHUP tells it to look) and for all later ones.
 *
 * All functions for the watchdog's process but reload_take().
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_RELOAD_H
#define KFDSHIM_SCHEDULER_DAEMON_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/daemon/config.h"

struct reload;

/* path: as it is to be opened again, NULL: there is no file. Both are copied. NULL: no
 * memory. */
struct reload *reload_create(const char *path, const struct config *config);
/* Begins to read the file, or does so again when the reading under way is over. */
void reload_begin(struct reload *reload, uint64_t now);
/* Is it being read? */
bool reload_busy(const struct reload *reload);
/* At every turn of the loop: true once, when another configuration has come into force.
 * What is wrong with one that has not is logged. */
bool reload_look(struct reload *reload, uint64_t now);
/* The worker: copies what is in force if its number is not *number, which it then is;
 * 0 is nothing's number. */
bool reload_take(const struct reload *reload, uint32_t *number, struct config *out);

#endif
