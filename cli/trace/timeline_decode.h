/* SPDX-License-Identifier: MIT */
/*
 * Converts what the daemon, the shim and HIP report into events of a timeline.
 *
 * Pure, except for memory. Threads: any. All told_by_*() functions return false if the record is
 * not one that they know; then *out is undefined.
 */
#ifndef KFDSHIM_CLI_TRACE_TIMELINE_DECODE_H
#define KFDSHIM_CLI_TRACE_TIMELINE_DECODE_H

#include "cli/inspect/hiplog.h"
#include "cli/trace/timeline.h"

/* Returns the string value of a key; "" if there is none. Borrowed from `object`. */
const char *decode_text(const json_t *object, const char *key);

/* Converts an event of the daemon. `wall_ns`: CLOCK_REALTIME - CLOCK_MONOTONIC. */
bool decode_daemon(json_t *event, int64_t wall_ns, struct trace_event *out);
/* Converts one of the "events" of a process's shared memory, as "kfdsched status PID
 * --dump" prints them. */
bool decode_shm(const json_t *event, pid_t pid, const char *comm, struct trace_event *out);
/* Converts the same event in the form of a log line (KFDSHIM_LOG=debug), without its newline. `ns`:
 * the time at which the line was read, because a log line has no time. *number: the count of the
 * process's events. */
bool decode_log(const char *line, size_t bytes, uint64_t ns, struct trace_event *out,
		uint64_t *number);

/*
 * HIP's log has one line when a call begins and one when it returns, so the span of a call is known
 * only when it returns. struct open_calls remembers the calls that have begun. Its entries are
 * reused in turn. The caller zeroes it once.
 */
#define OPEN_CALLS 256u
struct open_calls {
	struct open_call {
		/* `us`: the start of the call; 0: the entry is free. */
		uint64_t pid, thread, us;
		char name[64];
	} call[OPEN_CALLS];
	unsigned next;
};
/* Converts a record of HIP's log. `pid` is used if the line has no pid. */
bool decode_hip(const struct hiplog_record *record, pid_t pid, struct open_calls *open,
		struct trace_event *out);

#endif
