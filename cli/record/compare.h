/* SPDX-License-Identifier: MIT */
/*
 * Private part of kfdsched compare, shared by its two source files: compare.c reads, samples or
 * records the two sides, compare_output.c prints the comparison. Threads: none.
 */
#ifndef KFDSHIM_CLI_RECORD_COMPARE_H
#define KFDSHIM_CLI_RECORD_COMPARE_H

#include "cli/inspect/process.h"
#include "cli/record/comparison.h"

struct side {
	char name[128];			 /* the user's word for it, for messages */
	const char *dir;		 /* of the recording; NULL: a process */
	int exit_code, signal;		 /* of the recorded command; -1: none, or not known */
	struct process_identity process; /* pid 0: the side is a recording */
	struct observer *observer;
	struct observation observation;
	struct analysis analysis;
};

/* Prints the comparison of two sides as text. */
void compare_show(const struct comparison *comparison, const struct side sides[2]);
/* Returns the object of `kfdsched compare --json` (docs/reference/recordings.md), owned by the
 * caller. */
json_t *compare_json(const struct comparison *comparison, const struct side sides[2]);

#endif
