/* SPDX-License-Identifier: MIT */
/*
 * The process that a verb acts on: it is pinned by a descriptor, so that its number, used
 * again, is not taken for it; and what can have no queues is told at once. Threads: any.
 */
#ifndef KFDSHIM_CLI_TARGET_H
#define KFDSHIM_CLI_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "scheduler/cli/cli.h"
#include "scheduler/observe/process.h"

struct target {
	pid_t pid;
	int pidfd;
	char name[sizeof(((struct process_identity *)0)->comm)]; /* fit for a terminal */
};

/* CLI_GO_ON, and target_close() ends it; or CLI_FAILED, and one line has said why:
 * there is none of that number, it is a thread, one of the kernel's, or a zombie (perhaps
 * its first thread alone is). */
int target_open(const struct verb *verb, pid_t pid, struct target *out);
void target_close(struct target *target);
/* From the moment on at which it gives back what it has: then the driver has ended the
 * sessions on it (kfd_process_notifier_release) and kfdschedd its leases, and the pidfd
 * tells it only later. */
bool target_has_ended(const struct target *target);

#endif
