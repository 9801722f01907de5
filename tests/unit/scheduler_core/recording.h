/* SPDX-License-Identifier: MIT */
/*
 * Plays a recording of kfdschedd --record (docs/reference/scheduler-recording.md): passes the
 * recorded calls to a core of its own at the recorded times, and compares the core's decisions with
 * the recorded ones.
 *
 * The text is untrusted: each line is checked before it reaches the core.
 *
 * Threads: a recording is played by one thread.
 */
#ifndef TESTS_UNIT_SCHEDULER_CORE_RECORDING_H
#define TESTS_UNIT_SCHEDULER_CORE_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RECORDING_LINE_MAX 400u

/* Result of playing a recording. */
enum recording_result {
	RECORDING_SAME,
	RECORDING_DIFFERS, /* the core decides something else than recorded */
	RECORDING_BAD,	   /* the text is not a recording, or an incomplete one */
};

/* How many lines of each kind were played. */
struct recording_counts {
	uint64_t workers, calls, decisions, actions;
};

/* Plays `in` to its end, or up to the first difference or error. In the latter cases `problem` is a
 * message of one line that begins with NAME:LINE. `counts` is what has been played.
 *
 * Returns RECORDING_SAME, RECORDING_DIFFERS or RECORDING_BAD. */
enum recording_result recording_play(FILE *in, const char *name, struct recording_counts *counts,
				     char *problem, size_t size);

#endif
