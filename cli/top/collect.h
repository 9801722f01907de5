/* SPDX-License-Identifier: MIT */
/*
 * Samples the machine for kfdsched top. The first source is the daemon. Values that it does not
 * report are read from the driver's files in /sys/class/kfd and from /proc, at most once a second,
 * however often the caller samples. No process is stopped or suspended.
 *
 * Threads: one for each gatherer. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_TOP_COLLECT_H
#define KFDSHIM_CLI_TOP_COLLECT_H

#include "cli/top/snapshot.h"

struct gatherer;

/* socket: of the daemon; NULL: libkfdsched's default; kept, not copied. Returns NULL if there is no
 * memory. */
struct gatherer *collect_open(const char *socket);
void collect_close(struct gatherer *gatherer); /* NULL is allowed */

/*
 * Takes one sample, which replaces the content of *out.
 * registers: also read debugfs for the hardware slots, at most every 5 s.
 *
 * Returns 0 or -ENOMEM. A daemon that does not exist or does not reply is no error; out->why has
 * the reason then.
 */
int collect_sample(struct gatherer *gatherer, bool registers, struct top_state *out);

#endif
