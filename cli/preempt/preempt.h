/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the command "kfdsched preempt": preempt.c is the command itself;
 * preempt_rounds.c suspends and resumes the process, in a child (hold_child.h); preempt_output.c
 * prints and draws the result.
 *
 * Threads: none. Times are wall time in microseconds.
 */
#ifndef KFDSHIM_CLI_PREEMPT_PREEMPT_H
#define KFDSHIM_CLI_PREEMPT_PREEMPT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/util/select_process.h"
#include "kfd/device.h"

/* Options of the measurement. Filled by preempt.c, read-only for the other files. */
struct preempt_job {
	struct target_process target;
	unsigned times;
	/* Time on hold, time between two rounds, and the longest suspend that is tolerated
	 * (INFINITY: no limit). */
	double hold_us, pause_us, slow_us;
	/* The pid by which the daemon knows the process; the daemon then suspends it. 0: no daemon
	 * knows the process, and kfdsched suspends it by a debug session of its own. */
	pid_t daemon_pid;
	bool simulated;
	/* Shell command of a request, which is repeated during the whole measurement; a pause then
	 * precedes the first round, too. NULL: none. */
	const char *online;
	const char *socket;
};

/* One run of job->online that has succeeded; CLOCK_MONOTONIC, ns. */
struct preempt_request {
	uint64_t begin_ns, end_ns;
};
#define PREEMPT_REQUESTS 65536u

/* Runs of job->online, in memory shared with the process that makes them. */
struct preempt_online {
	pid_t pid; /* process that makes the runs, a group leader; 0: it has ended */
	/* True when the first run is over. Its status is first_status; the list does not have
	 * it. */
	bool begun;
	int first_status;
	unsigned count, failed;
	unsigned left_out; /* runs that succeeded when the list was full */
	struct preempt_request list[PREEMPT_REQUESTS]; /* `count` entries, in order of time */
};

/* Measured values. They lie in memory that the child shares with its parent, so that the parent can
 * print what a killed child had measured. */
struct preempt_result {
	unsigned tried;
	unsigned done;		       /* rounds completed: suspended and resumed */
	double opening_us;	       /* first suspend of our own session; NAN: not known */
	char problem[REASON_TEXT];     /* why further rounds were not done; empty: all were done */
	struct preempt_online *online; /* NULL: no requests were made */
	struct preempt_round {
		/* `held_us`: from the end of the suspend to the start of the resume. */
		double suspend_us, held_us, resume_us;
		uint64_t held_ns; /* begin of the hold, CLOCK_MONOTONIC */
	} rounds[];		  /* `done` entries */
};

/* Adds a completed round. Returns false if the suspend took longer than job->slow_us; then
 * result->problem is set and no further round must follow. */
bool preempt_count(const struct preempt_job *job, struct preempt_result *result,
		   struct preempt_round round);
/* Shows the progress on a terminal, as the live line of progress.h. */
void preempt_progress(const struct preempt_job *job, const struct preempt_result *result);

/*
 * Runs all rounds: by leases of the daemon (suspensions that end with their fd) if job->daemon_pid
 * is set, else by a debug session of kfdsched's own. The process is not suspended any more after
 * the return. `signals`: the signalfd of hold_child_run().
 *
 * Returns CLI_GO_ON if *result has the outcome (also an incomplete one, see `problem`), or the exit
 * code if nothing could be done, which was then reported in one line on stderr.
 */
int preempt_rounds(const struct preempt_job *job, int signals, struct preempt_result *result);

/* Statistics of a number of times. If count is 0, all other members are NAN. */
struct preempt_times {
	unsigned count;
	double min, mean, p50, p90, p99, max;
	double *sorted; /* `count` values, ascending */
};

/* Statistics. `suspend`, `held` and `resume` are of all rounds but the first, which is printed
 * apart. */
struct preempt_stats {
	struct preempt_times suspend, held, resume;
	/* Requests that began and ended within one hold, and those that began and ended while the
	 * process ran, up to the end of the last round. */
	struct preempt_times online_held, online_outside;
	unsigned online_across; /* requests during which a suspend or resume began or ended */
};

/* Computes the statistics; preempt_stats_free() frees *out. */
void preempt_stats(const struct preempt_result *result, struct preempt_stats *out);
/* Frees the sorted values. */
void preempt_stats_free(struct preempt_stats *stats);

/* Print the result on stdout, as text and as JSON. `columns`: width of the terminal. `blocks`: the
 * terminal can show block characters (U+2581 and the like) in the histogram. */
void preempt_print(const struct preempt_job *job, const struct preempt_result *result,
		   const struct preempt_stats *stats, unsigned columns, bool blocks);
void preempt_print_json(const struct preempt_job *job, const struct preempt_result *result,
			const struct preempt_stats *stats);
/* Draws the cumulative distribution as SVG: the share of rounds that took at most a given time. */
void preempt_svg(const struct preempt_job *job, const struct preempt_result *result,
		 const struct preempt_stats *stats, FILE *out);

/*
 * Prints durations as a text histogram: one line per bucket on a logarithmic scale (each bucket
 * is wider than the one before by the same factor), and several series side by side that share
 * the buckets.
 */
#define HISTOGRAM_ROWS 16 /* most buckets */

struct histogram_series {
	const char *name;
	const double *us;
	unsigned count;
};

/*
 * Prints the n series to `out`, fitted to a width of `columns` (60 or more; below that the lines
 * may be longer). blocks: draw bars with U+2588 to U+258F; false: with '#'. Values below 1 us
 * count as 1 us. Prints nothing if no series has a value.
 */
void histogram_print(const struct histogram_series *series, unsigned n, unsigned columns,
		     bool blocks, FILE *out);

#endif
