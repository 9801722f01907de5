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

struct suspend_ids {
	uint32_t id[SUSPEND_QUEUES]; /* in order, each once */
	uint32_t count;
};

/* "0,2-5", into a struct suspend_ids. -EINVAL: it is no such list. */
int suspend_read_ids(const char *text, void *ids);

/* Suspends the process (or these of its queues, if there are any) by a debug session of our
 * own, until Ctrl-C or until it has ended. The exit code. */
int suspend_direct(const struct order *order, const struct suspend_ids *queues);

#endif
