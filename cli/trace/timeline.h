/* SPDX-License-Identifier: MIT */
/*
 * An event of a trace, and the timeline, which sorts the events of all sources by time.
 *
 * Sources deliver their events late, so the timeline keeps each event back for a while before it
 * passes the events on in order of time. An event that arrives even later is passed on at once,
 * with its own time.
 *
 * Memory is bounded: if too many events are kept back, the oldest ones are passed on early.
 * Threads: one for each timeline. Ownership: events are copied.
 */
#ifndef KFDSHIM_CLI_TRACE_TIMELINE_H
#define KFDSHIM_CLI_TRACE_TIMELINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/client_shm.h"
#include "cli/inspect/hiplog.h"

/* Which source reported the event. */
enum trace_source {
	TRACE_SHIM,
	TRACE_DAEMON,
	TRACE_DRIVER, /* tracefs */
	TRACE_HIP,
	TRACE_SOURCES
};

/* What begins or ends with the event. The Perfetto output draws a bar from the event that begins
 * something to the event that ends it. */
enum trace_mark {
	TRACE_POINT,
	TRACE_QUEUE_ACTIVE,
	TRACE_QUEUE_BLOCKED,
	TRACE_QUEUE_IDLE, /* or destroyed */
	TRACE_HELD,	  /* the process holds itself (level self, gate or weight) */
	TRACE_RELEASED,
	TRACE_SUSPENDED, /* the daemon's suspend has ended; it took duration_ns */
	TRACE_RESUMED,
	TRACE_SPAN, /* begins at ns, takes duration_ns */
	TRACE_GONE, /* the process has ended */
};

struct trace_event {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	enum trace_source source;
	enum trace_mark mark;
	bool has_duration, has_queue;
	pid_t pid; /* 0: no process, or not known */
	char comm[16];
	uint32_t context, queue_id;
	/* Of a driver event the kernel's thread id, of a HIP event the pthread_t; 0: not known. */
	uint64_t thread;
	uint32_t gpu_id;		    /* 0: no node, or not known */
	uint32_t gpu_ids[CLIENT_SHM_NODES]; /* nodes of a suspend or resume, up to the first 0 */
	/* The process for whose work this one was suspended; 0: none, or not known. */
	pid_t cause_pid;
	uint64_t cause_ns; /* time of the cause; 0: not known */
	char name[64];
	char text[320]; /* the event as a sentence for the user */
};

/* Copies text from another process into a field of `size` bytes. The copy ends with NUL, is cut at
 * the end of a character, and has '?' for what plain_text() replaces (control characters ...). */
void trace_copy(char *to, size_t size, const char *from, size_t bytes);

/* Receives the events of a timeline in order. The event is borrowed for the call. */
typedef void trace_out(void *context, const struct trace_event *event);

struct timeline;

/* Creates a timeline that keeps each event for `keep_ns` before it calls out(). It keeps at most
 * `room` events at a time. */
struct timeline *timeline_new(uint64_t keep_ns, size_t room, trace_out *out, void *context);
/* Frees the timeline and drops the events that it still keeps. NULL is allowed. */
void timeline_free(struct timeline *timeline);
/* Copies the event into the timeline. */
void timeline_add(struct timeline *timeline, const struct trace_event *event);
/* Calls out() for the events that were kept for keep_ns at time `now_ns` (CLOCK_MONOTONIC);
 * UINT64_MAX: for all events. */
void timeline_flush(struct timeline *timeline, uint64_t now_ns);
size_t timeline_count(const struct timeline *timeline); /* events passed on so far */

/* Formatting: trace_line() writes one line of text without a newline, with times relative to
 * `begin_ns`, and returns `text`. trace_json() returns the event as JSON (docs/reference/trace.md);
 * `wall_ns` is CLOCK_REALTIME - CLOCK_MONOTONIC. */
#define TRACE_LINE 640
const char *trace_line(char text[static TRACE_LINE], const struct trace_event *event,
		       uint64_t begin_ns);
json_t *trace_json(const struct trace_event *event, int64_t wall_ns);

/* ---- conversion ---- */

/*
 * Converts what the daemon, the shim and HIP report into events of a timeline.
 *
 * Pure, except that memory can be allocated. Threads: any. The functions that fill *out return
 * false if they do not know the record; then *out is undefined.
 */

/* Returns the string value of a key; "" if there is none. Borrowed from `object`. */
const char *decode_text(const json_t *object, const char *key);

/* Converts an event of the daemon. `wall_ns`: CLOCK_REALTIME - CLOCK_MONOTONIC. */
bool decode_daemon(json_t *event, int64_t wall_ns, struct trace_event *out);
/* Converts one of the "events" of a process's shared memory, as "kfdsched status PID
 * --dump" prints them. */
bool decode_shm(const json_t *event, pid_t pid, const char *comm, struct trace_event *out);
/* Converts an event of the shim from a line of its log (KFDSHIM_LOG=debug), without its newline.
 * `ns`: the time at which the line was read, because a log line has no time. *number: the event's
 * number in its process. */
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
