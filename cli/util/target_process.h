/* SPDX-License-Identifier: MIT */
/*
 * The process on which a command acts. It is pinned by a pidfd, so that another process that gets
 * the same pid later is not mistaken for it. A process that cannot have queues is reported at once.
 *
 * Threads: any.
 */
#ifndef KFDSHIM_CLI_UTIL_TARGET_PROCESS_H
#define KFDSHIM_CLI_UTIL_TARGET_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/inspect/process.h"
#include "cli/util/command.h"

struct target_process {
	pid_t pid;
	int pidfd;
	char name[sizeof(((struct process_identity *)0)->comm)]; /* control characters replaced */
};

/* Opens the process `pid`. Returns CLI_GO_ON, and target_close() closes it; or CLI_FAILED after one
 * line on stderr if there is no such process, or if it is a thread, a kernel thread, a zombie, or a
 * process whose first thread has ended (a tracer needs the first thread). */
int target_process_open(const struct cli_command *cmd, pid_t pid, struct target_process *out);
/* Closes the pidfd. */
void target_close(struct target_process *target);
/* Returns true as soon as the process begins to release its resources at its end. From then on the
 * driver ends the debug sessions on it (kfd_process_notifier_release) and kfdschedd its leases,
 * whereas the pidfd reports the end only later. */
bool target_has_ended(const struct target_process *target);

#endif
