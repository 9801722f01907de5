/* SPDX-License-Identifier: MIT */
/*
 * kfdsched suspend: what its two files share. suspend.c is the verb and its way by the
 * daemon; suspend_direct.c holds a process in the foreground without one.
 */
#ifndef KFDSHIM_CLI_SUSPEND_H
#define KFDSHIM_CLI_SUSPEND_H

#include <stdint.h>

#include "scheduler/cli/orders.h"

#define SUSPEND_QUEUES 1024u /* ids that --queues can name, 0 to one less */

/* "0,2-5": the ids it names, in order, each once. How many; -EINVAL: it is no such list. */
int suspend_read_ids(const char *text, uint32_t ids[SUSPEND_QUEUES]);

/* Suspends the process (or those of its queues that order->queues names) by a debug session
 * of our own, until Ctrl-C or until it has ended. The exit code. */
int suspend_direct(const struct order *order);

#endif
