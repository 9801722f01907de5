/* SPDX-License-Identifier: MIT */
/*
 * kfdsched preempt: what its files share. preempt.c is the verb, with the process that
 * acts and the one that watches over it; the other two are the ways to act.
 *
 * Threads: none. Times are wall time.
 */
#ifndef KFDSHIM_CLI_PREEMPT_H
#define KFDSHIM_CLI_PREEMPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "scheduler/cli/cli.h"
#include "scheduler/kfd/device.h"

struct preempt_job {
	pid_t pid;
	unsigned times;
	double hold_us, pause_us, slow_us;
	bool json;
	bool by_daemon;
	const char *socket;
	char name[32];
};

struct preempt_result {
	unsigned done; /* suspended and resumed */
	double *suspend_us, *resume_us;
	char problem[KFD_REASON]; /* why not all; empty: all */
};

/* One that was suspended and resumed. false: it was slow, so the last; told. */
bool preempt_count(const struct preempt_job *job, struct preempt_result *result, double suspend_us,
		   double resume_us);

/*
 * Each does the whole job, and leaves the process running. signals: a signalfd; SIGCHLD is
 * for the first alone, every other ends the job. ASK_GO_ON: *result tells the rest; else
 * the exit code, and a line was said: nothing could be done.
 * preempt_direct: by a debug session of our own. preempt_by_daemon: by its leases.
 */
int preempt_direct(const struct preempt_job *job, int pidfd, int signals,
		   struct preempt_result *result);
int preempt_by_daemon(const struct preempt_job *job, int signals, struct preempt_result *result);

#endif
