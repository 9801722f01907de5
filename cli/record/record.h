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
#include <stdint.h>
#include <sys/types.h>

#include "cli/util/command.h"
#include "cli/util/sample_loop.h"

#define RECORD_SAMPLES_MAX 1000000
#define RECORD_INTERVAL_MIN_US 1e3
#define RECORD_INTERVAL_MAX_US 86400e6

/* All pointers are borrowed. */
struct record_options {
	const char *dir;       /* directory to record into; is created, or must be empty */
	const char *socket;    /* of the daemon */
	const char *prefix;    /* of the lines on stderr: "kfdsched record" */
	char **command;	       /* argv, ends with NULL */
	double interval_us;    /* between samples */
	unsigned long samples; /* most samples; after these only the command's end is awaited */
	bool to_stderr;	       /* the command's stdout is shown on stderr */
	bool temporary;	       /* the caller removes `dir`, so the last message does not name it */
	bool json;	       /* print an object at the end (docs/reference/recordings.md) */
};

/*
 * Takes a baseline sample, runs the command, takes samples while it runs, and takes a final sample
 * when its processes are gone. Installs the signal handlers of interrupt.h.
 *
 * Returns the exit code: that of the command; CLI_DONE after a signal to stop (interrupt.h);
 * CLI_FAILED, after a line on stderr, if the command could not be started or the recording is not
 * complete.
 */
int record_command(const struct record_options *options);

/* ---- monitor ---- */

/*
 * Options of a monitor, which samples the queues of one process repeatedly, prints a line for each
 * sample and, at the end, a summary of all samples. The commands monitor and watch use it; watch
 * has several monitors at once. Errors are printed on stderr, as messages of the command.
 */
struct monitor_options {
	pid_t pid;
	double seconds;	    /* duration; 0: until the process ends or a signal to stop arrives */
	double interval_us; /* between samples; > 0 */
	unsigned sources;   /* mask of OBSERVE_BIT(); 0: chosen to suit the interval */
	const char *socket; /* of the daemon; NULL: query_socket() */
	const char *record; /* directory for a recording; NULL: nothing is recorded */
	bool json;	    /* print only one object at the end, no line per sample */
	bool one_line;	    /* print that object on one line */
	bool labelled;	    /* put the process's pid in front of each line */
};

/* Shortest interval, in us, at which the daemon is queried even if `sources` does not name it. A
 * query costs time in which the daemon's worker should schedule, because the reply is long. */
#define MONITOR_DAEMON_US 100e3

/*
 * Begins to monitor a process: opens the sources, begins the recording (if options->record is set),
 * takes the first sample, and adds a task to the loop. The task takes the further samples and
 * prints the summary at its end. It ends when options->seconds are over, when the process has
 * ended, or when the recording cannot be written; the loop then frees it. *options is copied, the
 * strings in it are borrowed.
 * Prints an error, sets loop->code and adds no task if there is no such process, no source reports
 * its queues, or the directory of the recording cannot be made.
 */
void monitor_open(const struct cli_command *cmd, const struct monitor_options *options,
		  struct sample_loop *loop);

#endif
