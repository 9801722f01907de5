/* SPDX-License-Identifier: MIT */
/*
 * Records the queues of a command, from before its start until after its end, and its output, in
 * one directory (recording.h). Used by the commands record and compare.
 *
 * Threads: none; one command at a time in a process (child_output.h). compare therefore
 * records each of its commands in a process of its own.
 */
#ifndef KFDSHIM_CLI_RECORD_RECORD_H
#define KFDSHIM_CLI_RECORD_RECORD_H

#include <stdbool.h>

#define RECORD_SAMPLES_MAX 1000000
#define RECORD_INTERVAL_MIN_US 1e3
#define RECORD_INTERVAL_MAX_US 86400e6

/* All pointers are borrowed. */
struct record_options {
	const char *dir;       /* is created, or empty */
	const char *socket;    /* of the daemon */
	const char *prefix;    /* of the lines on stderr: "kfdsched record" */
	char **command;	       /* argv, ends with NULL */
	double interval_us;    /* between samples */
	unsigned long samples; /* at most; then the end of the command is waited for */
	bool to_stderr;	       /* the command's stdout is shown on stderr */
	bool temporary; /* the caller removes `dir` later: the line at the end does not name it */
	bool json;	/* print an object at the end (docs/reference/recordings.md) */
};

/*
 * Takes a baseline sample, runs the command, and takes a final sample when its processes are gone.
 * Installs the signal handlers of interrupt.h.
 *
 * Returns the exit code: that of the command; CLI_DONE after a signal to stop (interrupt.h);
 * CLI_FAILED, after a line on stderr, if it could not be started or the recording is not complete.
 */
int record_command(const struct record_options *options);

#endif
