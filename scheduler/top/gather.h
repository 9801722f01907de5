/* SPDX-License-Identifier: MIT */
/*
 * Looks at the machine for kfdsched top: the daemon, and for what it does not tell the
 * driver's files in /sys/class/kfd and /proc. Those are read once a second at most, however
 * often one looks, and nothing here stops or suspends anybody.
 *
 * Threads: one for each gatherer. Errors: negative errno.
 */
#ifndef KFDSHIM_TOP_GATHER_H
#define KFDSHIM_TOP_GATHER_H

#include "scheduler/top/state.h"

struct gatherer;

/* socket: of the daemon; NULL: libkfdsched's own choice. Kept, not copied. NULL: no memory. */
struct gatherer *gather_open(const char *socket);
void gather_close(struct gatherer *gatherer); /* NULL is allowed */

/* One look, in place of what *out held. registers: hardware slots are wanted, for which
 * debugfs is read, once in five seconds at most. -ENOMEM. A daemon that is not there or does
 * not answer is no error: out->why says so. */
int gather_look(struct gatherer *gatherer, bool registers, struct top_state *out);

#endif
