/* SPDX-License-Identifier: MIT */
/* What the parts of `kfdsched trace` share. Threads: the first, but where it says so. */
#ifndef KFDSHIM_CLI_TRACE_H
#define KFDSHIM_CLI_TRACE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "scheduler/cli/trace_event.h"

#define TRACE_PIDS 64u

struct trace_options {
	const char *socket;
	const char *perfetto; /* NULL: none; "-": stdout */
	const char *hip_log;  /* NULL: none */
	bool json;
	double seconds; /* 0: until it is stopped */
	unsigned hip;	/* AMD_LOG_LEVEL of the command; 0: as it is */
	pid_t pid[TRACE_PIDS];
	unsigned pids;
	char **command; /* NULL: none */
};

/* Is it to be told of this process? */
bool trace_is_chosen(const struct trace_options *options, pid_t pid);
/* Traces, and returns the exit code. */
int trace_run(const struct trace_options *options);

#endif
