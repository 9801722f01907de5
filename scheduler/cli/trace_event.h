/* SPDX-License-Identifier: MIT */
/*
 * One moment of a timeline, whoever told it, and the timeline that brings the moments of
 * all sources into their order: each is kept back for a while, because sources tell late,
 * and handed out by time. One that is later still is handed out at once, with its own time.
 *
 * Memory is bounded: when too many are kept back, the oldest go out early.
 * Threads: one for each timeline. Ownership: events are copied.
 */
#ifndef KFDSHIM_CLI_TRACE_EVENT_H
#define KFDSHIM_CLI_TRACE_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/lane.h"

enum trace_source {
	TRACE_SHIM,
	TRACE_DAEMON,
	TRACE_DRIVER, /* tracefs */
	TRACE_HIP,
	TRACE_SOURCES
};
const char *trace_source_name(enum trace_source source); /* "shim", "daemon", ... */

/* What it begins or ends, so that a picture can have a bar between the two. */
enum trace_mark {
	TRACE_POINT,
	TRACE_QUEUE_ACTIVE,
	TRACE_QUEUE_BLOCKED,
	TRACE_QUEUE_IDLE, /* or gone */
	TRACE_HELD,	  /* the process holds itself */
	TRACE_RELEASED,
	TRACE_SUSPENDED, /* the daemon's call is over, and took duration_ns */
	TRACE_RESUMED,
	TRACE_SPAN, /* begins at ns and lasts for duration_ns */
	TRACE_GONE, /* the process has ended */
};

struct trace_event {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	enum trace_source source;
	enum trace_mark mark;
	bool has_duration, has_queue;
	pid_t pid; /* 0: of no process, or not known */
	char comm[16];
	uint32_t context, queue_id;
	uint64_t thread; /* DRIVER: the kernel's number; HIP: its pthread_t; 0: not known */
	uint32_t gpu_id; /* 0: of no node, or not known */
	uint32_t gpu_ids[LANE_NODES]; /* of a suspension, up to the first 0 */
	pid_t cause_pid;	      /* 0: nobody, or not known */
	uint64_t cause_ns;	      /* when the cause was there; 0: not known */
	char name[64];
	char text[320]; /* the whole of it as a reader would say it */
};

/* Bytes from elsewhere into a field: cut to whole characters, '?' for control characters
 * and what is no UTF-8. */
void trace_copy(char *to, size_t size, const char *from, size_t bytes);

typedef void trace_out(void *context, const struct trace_event *event);

struct timeline;

/* keep_ns: for so long; room: and so many at most. NULL: no memory. */
struct timeline *timeline_new(uint64_t keep_ns, size_t room, trace_out *out, void *context);
void timeline_free(struct timeline *timeline); /* drops what it still has; NULL is allowed */
void timeline_add(struct timeline *timeline, const struct trace_event *event);
/* Hands out what has waited long enough at `now_ns`; UINT64_MAX: all. */
void timeline_flush(struct timeline *timeline, uint64_t now_ns);
size_t timeline_count(const struct timeline *timeline); /* handed out so far */

/* As a line of text, without its newline, `begin_ns` being 0; and as JSON (docs/formats.md).
 * wall_ns: CLOCK_REALTIME less CLOCK_MONOTONIC. NULL: no memory. */
#define TRACE_LINE 640
const char *trace_line(char text[static TRACE_LINE], const struct trace_event *event,
		       uint64_t begin_ns);
json_t *trace_json(const struct trace_event *event, int64_t wall_ns);

#endif
