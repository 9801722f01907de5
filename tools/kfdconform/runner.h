/* SPDX-License-Identifier: MIT */
/*
 * Runs one check. Every check is a function that runs in a process of its own, with a process group
 * that is killed when the time limit is reached: a check that hangs, crashes or leaves children
 * behind is a failed check without further consequences.
 */
#ifndef KFDSHIM_TOOLS_KFDCONFORM_RUNNER_H
#define KFDSHIM_TOOLS_KFDCONFORM_RUNNER_H

#include "kfd/driver_rules.h"

#define SUITE_SECONDS 20 /* time limit of one check */
/* Exit status of a check: not possible on this machine; the machine was too busy. */
#define SUITE_SKIPPED 77
#define SUITE_TOO_BUSY 75
/* The prefix of lines of a check that can pass nevertheless. */
#define SUITE_TRIED_AGAIN "retried: "

enum suite_result { SUITE_PASS, SUITE_FAIL, SUITE_NOT_APPLICABLE, SUITE_BUSY, SUITE_RESULTS };

struct suite_outcome {
	enum suite_result result;
	/* Why the check did not pass, or that it repeated something; one line. */
	char reason[512];
	uint64_t us; /* duration */
};

/* Runs the check in a process of its own. Returns 0, or a negative errno if no process could be
 * created. One thread. */
int suite_run(enum kfdabi_rule rule, struct suite_outcome *out);

/* Runs the check in the calling process, which the check may end. */
void suite_check(enum kfdabi_rule rule);

#endif
