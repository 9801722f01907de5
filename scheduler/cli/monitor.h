/* SPDX-License-Identifier: MIT */
/*
 * Samples the queues of one process, tells each sample as a line and, at the end, what they
 * have in common. For the verbs monitor and watch, which may have several under way at once:
 *
 *	stop_begin(); monitor_open(verb, &options, &m) for each;
 *	until somebody asks to stop: sleep until the least monitor_due(), monitor_sample();
 *	monitor_close(m) for each.
 *
 * Threads: none. Sentences go to stderr, as the verb's.
 */
#ifndef KFDSHIM_CLI_MONITOR_H
#define KFDSHIM_CLI_MONITOR_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/cli/cli.h"

struct monitor_options {
	pid_t pid;
	double seconds;	    /* 0: until it ends, or somebody asks */
	double interval_us; /* > 0 */
	unsigned sources;   /* OBSERVE_BIT()s; 0: as suits the interval, MONITOR_AUTO */
	const char *socket; /* of the daemon; NULL: the session's own */
	const char *record; /* folder; NULL: nothing is kept */
	bool json;	    /* nothing is told but the whole at the end */
	bool one_line;	    /* that as one line */
	bool labelled;	    /* each line names the process */
};

/* Below this interval the daemon is not asked by itself: its answer is long, and its worker
 * has other things to do. */
#define MONITOR_DAEMON_US 100e3

struct monitor;

/* CLI_DONE and *out, or the exit code to end with and a sentence on stderr: there is no
 * such process, no source knows it, the folder cannot be made. The first sample has been
 * taken. */
int monitor_open(const struct verb *verb, const struct monitor_options *options,
		 struct monitor **out);
/* When the next sample is due (CLOCK_MONOTONIC, ns). UINT64_MAX: there is none, for time is
 * up, or the process has ended, or what is recorded cannot be written. */
uint64_t monitor_due(const struct monitor *monitor);
void monitor_sample(struct monitor *monitor);
/* Tells the statistics (as JSON on stdout where that was asked for), ends it, and returns
 * the exit code: CLI_FAILED if nobody ever knew its queues or the recording broke off. */
int monitor_close(struct monitor *monitor);

/* All of that for one process, until it is done or somebody asks (scheduler/cli/stop.h,
 * begun by the caller). */
int monitor_process(const struct verb *verb, const struct monitor_options *options);

#endif
