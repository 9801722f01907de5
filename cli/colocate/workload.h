/* SPDX-License-Identifier: MIT */
/*
 * kfdsched workload on all GPUs: one kfdreplay for each, as the ranks of one job.
 *
 * Threads: none. Errors are reported in one line on stderr.
 */
#ifndef KFDSHIM_CLI_COLOCATE_WORKLOAD_H
#define KFDSHIM_CLI_COLOCATE_WORKLOAD_H

#include <stdbool.h>

#define WORKLOAD_ARGUMENTS 24

struct workload {
	/* kfdreplay by its absolute path, and its arguments, without --device and --json;
	 * NULL-terminated, at most WORKLOAD_ARGUMENTS entries. */
	const char *const *argv;
	const char *priority; /* for libkfdshim.so; NULL: the ranks run without it */
	bool json;
};

/* Starts a rank on each GPU, waits until all have ended, and prints their results. A signal ends
 * the ranks early; their results are printed all the same. Returns the exit code: that of the first
 * rank that failed, else CLI_DONE. */
int workload_on_all(const struct workload *workload);

#endif
