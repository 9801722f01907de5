/* SPDX-License-Identifier: MIT */
/*
 * Plays a recording of kfdschedd --record (docs/formats.md): feeds a core of its own with the
 * recorded calls in the recorded time, and compares what it decides with what was recorded.
 * The text may come from anywhere: it is checked, line by line, before it reaches the core.
 * Threads: one recording, one thread.
 */
#ifndef TESTS_UNIT_SCHEDULER_CORE_RECORDING_H
#define TESTS_UNIT_SCHEDULER_CORE_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RECORDING_LINE_MAX 400u

enum recording_result {
	RECORDING_SAME,
	RECORDING_DIFFERS, /* the core decides something else */
	RECORDING_BAD,	   /* it is no recording, or not a whole one */
};

struct recording_counts {
	uint64_t workers, calls, decisions, actions;
};

/* Plays all of `in`, up to the first difference or mistake. `problem` is then one sentence that
 * begins with NAME:LINE. */
enum recording_result recording_play(FILE *in, const char *name, struct recording_counts *counts,
				     char *problem, size_t size);

#endif
