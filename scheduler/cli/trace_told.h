/* SPDX-License-Identifier: MIT */
/*
 * What the daemon, the shim and HIP say, as moments of a timeline. Pure but for memory.
 * Threads: any. false: it is none that we know, and *out means nothing.
 */
#ifndef KFDSHIM_CLI_TRACE_TOLD_H
#define KFDSHIM_CLI_TRACE_TOLD_H

#include "scheduler/cli/trace_event.h"
#include "scheduler/observe/hiplog.h"

/* A text of an object of theirs; "" where there is none. */
const char *told_text(const json_t *object, const char *key);

/* An event of the daemon; wall_ns: CLOCK_REALTIME less CLOCK_MONOTONIC. */
bool told_by_daemon(json_t *event, int64_t wall_ns, struct trace_event *out);
/* One of a lane's "events" (kfdsched status PID --dump). */
bool told_by_lane(const json_t *event, pid_t pid, const char *comm, struct trace_event *out);
/* The same as a line of KFDSHIM_LOG=debug, without its newline, read at `ns`; *number: as
 * the process counts them. */
bool told_by_log(const char *line, size_t bytes, uint64_t ns, struct trace_event *out,
		 uint64_t *number);

/*
 * A line of HIP's log. A call's span is known when it ends: `open` remembers which calls
 * of which threads have begun, until others need the place.
 */
#define TOLD_CALLS 256u
struct told_calls {
	struct told_call {
		uint64_t pid, thread, us;
		char name[64];
	} call[TOLD_CALLS];
	unsigned next;
};
/* `pid` where the line names none. */
bool told_by_hip(const struct hiplog_record *record, pid_t pid, struct told_calls *open,
		 struct trace_event *out);

#endif
