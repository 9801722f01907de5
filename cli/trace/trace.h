/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the command "kfdsched trace": its options, its timeline,
 * its output, its sources and its main loop.
 *
 * Threads: the first thread only, except where a comment says otherwise.
 */
#ifndef KFDSHIM_CLI_TRACE_TRACE_H
#define KFDSHIM_CLI_TRACE_TRACE_H

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

#include "channel/client_shm.h"
#include "cli/inspect/hiplog.h"
#include "cli/util/sim_info.h"

#define TRACE_PIDS 64u

/* The parsed command line. Strings point into argv. */
struct trace_options {
	const char *socket;
	const char *perfetto; /* file; "-": stdout; NULL: no Perfetto output */
	const char *hip_log;  /* NULL: none */
	bool json;
	double seconds; /* 0: until a signal or the end of the command */
	unsigned hip;	/* AMD_LOG_LEVEL for the command; 0: not changed */
	/* Only these processes, and actions that they cause, are traced; `pids` 0: all. */
	pid_t pid[TRACE_PIDS];
	unsigned pids;
	char **command; /* NULL: none */
};

/* Returns true if events of process `pid` are wanted. */
bool trace_is_chosen(const struct trace_options *options, pid_t pid);
/* Runs the trace and returns the exit code of kfdsched. */
int trace_run(const struct trace_options *options);

/* ---- events and their timeline ---- */

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
	TRACE_HELD, /* the process's shim holds its work back (LEVEL_SELF, _GATE or _WEIGHT) */
	TRACE_RELEASED,
	TRACE_SUSPENDED, /* the daemon's suspend call has returned; it took duration_ns */
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
/* Converts a record of HIP's log. `pid` is used if the record has no pid. Returns false for the
 * begin of a call, which is only remembered in *open, and for a record that makes no event. */
bool decode_hip(const struct hiplog_record *record, pid_t pid, struct open_calls *open,
		struct trace_event *out);

/* ---- output ---- */

/*
 * Output of a trace: events pass through the timeline and are then written as lines of
 * text, lines of JSON, or a file for Perfetto. Notes about what the trace lacks are printed on
 * stderr and stored in the file.
 *
 * Threads: all functions are for the first thread only, except trace_output_add(). Results: exit
 * codes of kfdsched; CLI_GO_ON: no exit code yet.
 */

struct perfetto;

struct trace_output {
	const struct trace_options *options; /* borrowed */
	uint64_t begin_ns;		     /* start of the trace, CLOCK_MONOTONIC */
	FILE *file;			     /* stdout, or the file for Perfetto */
	/* True if the reader of stdout (a pipe, a terminal) is gone; set by the main loop. */
	bool unread;
	bool simulated;
	struct simulation simulation;
	/* Texts of all notes so far. */
	json_t *notes;
	/* Lines of HIP's log that were left out because they are older than the trace, or later
	 * than the time at which they were read. Both are reported at the end. */
	uint64_t hip_before, hip_future;
	pthread_mutex_t mutex; /* protects `timeline` */
	struct timeline *timeline;
	struct perfetto *perfetto;
};

/* Opens the output and begins the trace at the current time. Returns CLI_GO_ON or the exit code.
 * trace_output_free() must be called once in any case. */
int trace_output_open(struct trace_output *output, const struct trace_options *options);
/* Frees the memory. Does not write what is left: see trace_output_end(). */
void trace_output_free(struct trace_output *output);
/* Adds an event. Can be called by any thread. A TRACE_POINT from before the start of the trace is
 * left out. Other events are kept, because their bars can reach into the trace. */
void trace_output_add(struct trace_output *output, const struct trace_event *event);
/* Writes the events that have waited long enough at `now_ns` (CLOCK_MONOTONIC);
 * UINT64_MAX: all events. */
void trace_output_flush(struct trace_output *output, uint64_t now_ns);
/* Prints one sentence about the trace on stderr, and keeps it for the Perfetto file. */
void trace_note(struct trace_output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns true if nothing more can be written. */
bool trace_output_failed(const struct trace_output *output);
/* Writes what is left and closes the file, then prints a summary on stderr. `end_ns`: the end of
 * the trace, CLOCK_MONOTONIC. Returns the exit code. */
int trace_output_end(struct trace_output *output, uint64_t end_ns);

/* Returns CLOCK_REALTIME - CLOCK_MONOTONIC at this moment. */
int64_t trace_wall_ns(void);

/*
 * Writes a timeline as trace event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing
 * read. Events are written as they arrive. Of a bar that has not ended yet only the start is kept
 * in memory.
 *
 * Each bar is one complete event ("X") and is written when it ends, so no bar is left without an
 * end. There is one track for each queue, for each node, and for each thread of the driver and of
 * HIP. A process can have these tracks, too: "off the GPU", "holds itself", "held processes for it"
 * (its work for which others were suspended), "shim" and "daemon" (all other events). A pid above
 * PERFETTO_OURS in the file is not a process, but a group for the tracks of the daemon, the driver
 * and the nodes.
 *
 * Errors of the file are returned by perfetto_end().
 */
#define PERFETTO_OURS 4194304 /* the kernel's limit of pids (PID_MAX_LIMIT) */

/* Writes the start of the file, which stays open and owned by the caller. */
struct perfetto *perfetto_begin(FILE *file);
/* Writes an event, or if it begins a bar, remembers it: a bar is written when it ends. */
void perfetto_add(struct perfetto *perfetto, const struct trace_event *event);
/* Ends all bars at `end_ns` (CLOCK_MONOTONIC), ends the file with the object `about` (borrowed),
 * and frees `perfetto`. The file stays open. Returns 0 or a negative errno. */
int perfetto_end(struct perfetto *perfetto, uint64_t end_ns, json_t *about);

/* ---- sources ---- */

/*
 * The sources of a trace: the daemon, and the kernel driver.
 *
 * From the daemon come its own events, and the events of the processes' shared memory (struct
 * client_shm), which the daemon reads for the trace.
 *
 * Threads: the first thread; trace_daemon_follow() starts one more, which adds events.
 */

struct kfdsched;
struct shm_source;

struct trace_daemon {
	struct trace_output *output; /* borrowed */
	struct kfdsched *daemon;
	int events_fd;		       /* readable when there are events; -1: none will come */
	struct shm_source *shm_source; /* NULL: shared memory is not followed */
};

/* Subscribes to the daemon's events. Returns false if no daemon answers, which is then recorded as
 * a note of the trace. */
bool trace_daemon_open(struct trace_daemon *daemon, struct trace_output *output);
/* Begins to follow the shared memory of all wanted processes, and adds the state of these
 * processes to the trace. Called after the last fork, because it starts a thread. Returns
 * CLI_GO_ON, or the exit code. */
int trace_daemon_follow(struct trace_daemon *daemon);
/* Reads all events that have arrived. Reconnects if the daemon was restarted, and records the
 * gap as a note. */
void trace_daemon_read(struct trace_daemon *daemon);
/* Reads the shared memory a last time and records missed events as notes. */
void trace_daemon_end(struct trace_daemon *daemon);
/* Closes the connection. */
void trace_daemon_close(struct trace_daemon *daemon);

/*
 * Traces the kernel driver by tracefs: calls of amdkfd's functions, and events of amdgpu and of the
 * GPU scheduler.
 *
 * All tracing takes place in a trace instance of our own, with a buffer of its own, so that the
 * global instance and its users are not affected. tracefs_close() removes the instance. An instance
 * that a killed run has left behind is removed by the next run.
 *
 * Threads: one. Errors: a negative errno with a sentence in `why`.
 */
#define TRACEFS_ROOT "/sys/kernel/tracing"
#define TRACEFS_WHY 512

struct tracefs {
	char directory[192]; /* directory of the instance; empty: none */
	int pipe;	     /* trace_pipe, for poll(2); -1: not open */
	bool graph;	     /* functions have durations; false: only their calls are traced */
	/* Number of functions and events that are traced. */
	unsigned functions, events;
	uint64_t lost;	       /* events that the kernel's buffer could not keep */
	char why[TRACEFS_WHY]; /* one sentence: what is traced, or why nothing is */
	/* Bytes in `line`. */
	size_t used;
	char line[4096]; /* incomplete last line */
};

/* Begins to trace in instance `name` (tracefs_name()) of the tracefs at `root`. Returns 0 or a
 * negative errno; tracefs->why explains the result in both cases. */
int tracefs_open(struct tracefs *tracefs, const char *root, const char *name);
/* Writes the name of the instance of this process. It contains the pid and the start time of the
 * process, so that a later run can find out whether the process has ended. */
void tracefs_name(char name[static 64]);
/* Removes the instances whose process has ended. Returns their number. */
unsigned tracefs_remove_leftovers(const char *root);
/* Reads without waiting, and calls take() for each event. Returns true if there may be more: events
 * can come faster than they are read, so a call reads 4 MiB at most. */
bool tracefs_read(struct tracefs *tracefs, void (*take)(void *context, struct trace_event *event),
		  void *context);
/* tracefs_stop() stops tracing; what the buffer has can still be read. tracefs_close() stops
 * tracing and removes the instance. */
void tracefs_stop(struct tracefs *tracefs);
void tracefs_close(struct tracefs *tracefs);

/* Parses one line of trace_pipe without its newline. Returns false if the line is not an event. A
 * line about lost events adds their number to *lost. */
bool tracefs_parse(const char *line, struct trace_event *out, uint64_t *lost);

#endif
