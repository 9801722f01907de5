/* SPDX-License-Identifier: MIT */
/*
 * kfdsched preempt: what its files share. preempt.c is the verb; preempt_direct.c and
 * preempt_daemon.c are the ways to act, in a child (actor.h); preempt_show.c tells what
 * came of it, and preempt_svg.c draws it.
 *
 * Threads: none. Times are wall time, in microseconds.
 */
#ifndef KFDSHIM_CLI_PREEMPT_H
#define KFDSHIM_CLI_PREEMPT_H

#include <stdbool.h>
#include <stdio.h>

#include "scheduler/cli/target.h"
#include "scheduler/kfd/device.h"

struct preempt_job {
	struct target target;
	unsigned times;
	double hold_us, pause_us, slow_us;
	pid_t daemon_pid; /* the daemon's number for it, who acts then; 0: nobody but we does */
	bool simulated;
	const char *socket;
};

/* In memory that the child shares with its parent, who tells what a dead child had. */
struct preempt_result {
	unsigned tried;
	unsigned done;		  /* suspended and resumed */
	double opening_us;	  /* what the session's own first suspend took; NAN: none known */
	char problem[KFD_REASON]; /* why not all; empty: all */
	struct preempt_round {
		double suspend_us, held_us, resume_us; /* held: between the two */
	} rounds[];				       /* those that are done */
};

/* One that was suspended and resumed. false: it was slow, so the last; told. */
bool preempt_count(const struct preempt_job *job, struct preempt_result *result,
		   struct preempt_round round);
/* Shows on a terminal how far it is. */
void preempt_progress(const struct preempt_job *job, const struct preempt_result *result);

/*
 * Each does the whole job, and leaves the process running. signals: as actor.h has it.
 * CLI_GO_ON: *result tells the rest; else the exit code, and a line was said: nothing
 * could be done.
 * preempt_direct: by a debug session of our own. preempt_by_daemon: by its leases.
 */
int preempt_direct(const struct preempt_job *job, int signals, struct preempt_result *result);
int preempt_by_daemon(const struct preempt_job *job, int signals, struct preempt_result *result);

/* Of all rounds but the first, which is told apart; NANs where there is none. */
struct preempt_times {
	unsigned count;
	double min, mean, p50, p90, p99, max;
	double *sorted; /* count of them */
};

struct preempt_figures {
	struct preempt_times suspend, held, resume;
};

/* -ENOMEM, or 0 and preempt_figures_free() ends it. */
int preempt_figures(const struct preempt_result *result, struct preempt_figures *out);
void preempt_figures_free(struct preempt_figures *figures);

/* 0, or -ENOMEM. columns: of the terminal; blocks: it can show U+2581 and its like. */
int preempt_print(const struct preempt_job *job, const struct preempt_result *result,
		  const struct preempt_figures *figures, unsigned columns, bool blocks);
int preempt_print_json(const struct preempt_job *job, const struct preempt_result *result,
		       const struct preempt_figures *figures);
/* How many of the rounds took at most so long, as curves. */
void preempt_svg(const struct preempt_job *job, const struct preempt_result *result,
		 const struct preempt_figures *figures, FILE *out);

#endif
