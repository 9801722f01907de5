/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the command "kfdsched trace": its options and its main loop.
 *
 * Threads: the first thread only, except where a comment says otherwise.
 */
#ifndef KFDSHIM_CLI_TRACE_TRACE_H
#define KFDSHIM_CLI_TRACE_TRACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/trace/timeline.h"

#define TRACE_PIDS 64u

/* The parsed command line. Strings point into argv. */
struct trace_options {
	const char *socket;
	const char *perfetto; /* file; "-": stdout; NULL: no Perfetto output */
	const char *hip_log;  /* NULL: none */
	bool json;
	double seconds; /* 0: until a signal or the end of the command */
	unsigned hip;	/* AMD_LOG_LEVEL for the command; 0: not changed */
	/* Only these processes, and actions that they cause, are traced; `pids` 0: all. */
	pid_t pid[TRACE_PIDS];
	unsigned pids;
	char **command; /* NULL: none */
};

/* Returns true if events of process `pid` are wanted. */
bool trace_is_chosen(const struct trace_options *options, pid_t pid);
/* Runs the trace and returns the exit code of kfdsched. */
int trace_run(const struct trace_options *options);

#endif
