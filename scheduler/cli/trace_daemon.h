/* SPDX-License-Identifier: MIT */
/*
 * What the daemon tells of a trace's processes: its events, and their lanes, which it
 * reads for us. Threads: the first; the lanes have one of their own.
 */
#ifndef KFDSHIM_CLI_TRACE_DAEMON_H
#define KFDSHIM_CLI_TRACE_DAEMON_H

#include <stdbool.h>

#include "scheduler/cli/trace_output.h"

struct kfdsched;
struct lanes;

struct trace_daemon {
	struct trace_output *output; /* borrowed */
	struct kfdsched *daemon;
	int events_fd;	     /* -1: nothing comes; else to poll */
	struct lanes *lanes; /* NULL: none are read */
};

/* Asks for its events. false: there is no daemon, which is noted. */
bool trace_daemon_open(struct trace_daemon *daemon, struct trace_output *output);
/* Follows the lanes. Behind all that forks, for it starts a thread. CLI_GO_ON, or the exit
 * code. */
int trace_daemon_follow(struct trace_daemon *daemon);
/* All that there is by now. */
void trace_daemon_read(struct trace_daemon *daemon);
/* The lanes are read a last time; what was missed is noted. */
void trace_daemon_end(struct trace_daemon *daemon);
void trace_daemon_close(struct trace_daemon *daemon);

#endif
