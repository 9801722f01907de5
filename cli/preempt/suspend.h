/* SPDX-License-Identifier: MIT */
/*
 * Shared by the two files of the command "kfdsched suspend": suspend.c is the command itself and
 * suspends by the daemon; suspend_direct.c holds a process in the foreground without a daemon.
 */
#ifndef KFDSHIM_CLI_PREEMPT_SUSPEND_H
#define KFDSHIM_CLI_PREEMPT_SUSPEND_H

#include <stdint.h>

#include "cli/preempt/set_resume.h"

#define SUSPEND_IDS_MAX 1024u /* limit of the ids that --queues accepts: 0 to 1023 */

struct suspend_ids {
	uint32_t id[SUSPEND_IDS_MAX]; /* ascending, without duplicates */
	uint32_t count;
};

/* Parses a list of queue ids, "0,2-5"; `ids` is a struct suspend_ids. Returns 0, or -EINVAL if the
 * text is not such a list. */
int suspend_read_ids(const char *text, void *ids);

/* Suspends the process, or only `queues` if their count is above 0, by a debug session of
 * kfdsched's own, until Ctrl-C or until the process has ended. Returns the exit code. */
int suspend_direct(const struct control_req *req, const struct suspend_ids *queues);

#endif
