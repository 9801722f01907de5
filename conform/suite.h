/* SPDX-License-Identifier: MIT */
/*
 * Running one check. Every check is a function of its own in a process of its
 * own, with a process group that is killed when the time is over: a check that
 * hangs, crashes or leaves children behind is a failed check and nothing more.
 */
#ifndef KFDSHIM_CONFORM_SUITE_H
#define KFDSHIM_CONFORM_SUITE_H

#include "abi/rules.h"

#define SUITE_SECONDS 20 /* for one check */
/* A check's exit status: not possible here; the machine was too busy to tell. */
#define SUITE_SKIPPED 77
#define SUITE_TOO_BUSY 75
/* How a line of a check begins that may pass all the same. */
#define SUITE_TRIED_AGAIN "tried again: "

enum suite_result { SUITE_PASS, SUITE_FAIL, SUITE_NOT_APPLICABLE, SUITE_BUSY, SUITE_RESULTS };

struct suite_outcome {
	enum suite_result result;
	char reason[512]; /* why not pass, or that it was tried again; one line */
	uint64_t us;	  /* how long it took */
};

/* Returns 0, or a negative errno where no process could be made. One thread. */
int suite_run(enum kfdabi_rule rule, struct suite_outcome *out);

/* The check alone, in this process, which it may end. */
void suite_check(enum kfdabi_rule rule);

#endif
