// SPDX-License-Identifier: MIT
/* In the trace event format a track is a thread of a process, so each track has a pid and a tid.
 * Tracks are kept until the trace ends. */
#include "cli/trace/trace.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "cli/util/gpus.h"
#include "common/allocate.h"
#include "common/json_util.h"

#define OURS_DAEMON (PERFETTO_OURS + 1)
#define OURS_DRIVER (PERFETTO_OURS + 2)
#define OURS_NODES (PERFETTO_OURS + 3)
#define OURS_UNKNOWN (PERFETTO_OURS + 4) /* events without a process */

enum track_kind {
	TRACK_PROCESS, /* not a track: names the process */
	TRACK_QUEUE,
	TRACK_OFF, /* time suspended by the daemon */
	TRACK_HELD,
	TRACK_CAUSES, /* work for which other processes were suspended */
	TRACK_EVENTS,
	TRACK_NODE,
	TRACK_THREAD,
	TRACK_HIP,
};

struct track {
	enum track_kind kind;
	pid_t pid;
	uint64_t a, b; /* identify the track among those of its kind and pid */
	int tid;
	/* The bar that has not ended yet; valid if `open`. */
	bool open;
	const char *name;
	uint64_t since_ns;
};

struct perfetto {
	FILE *file;
	bool comma;
	int tids;
	uint64_t flows;
	void *tracks; /* tree of struct track, each allocated; see tsearch(3) */
};

/* ---- the file ---- */

static void put_text(FILE *file, const char *text)
{
	json_t *json = plain_json(text);

	json_dumpf(json, file, JSON_ENCODE_ANY);
	json_decref(json);
}

static void put_us(FILE *file, const char *key, uint64_t ns)
{
	fprintf(file, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000),
		(unsigned)(ns % 1000));
}

/* Writes the beginning of an event's JSON object, up to the name. */
static void begin(struct perfetto *p, const char *phase, pid_t pid, int tid, const char *name)
{
	fprintf(p->file,
		"%s{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":", p->comma ? ",\n" : "\n", phase,
		(int)pid, tid);
	p->comma = true;
	put_text(p->file, name);
}

static void put_name(struct perfetto *p, const char *what, pid_t pid, int tid, const char *name)
{
	begin(p, "M", pid, tid, what);
	fputs(",\"args\":{\"name\":", p->file);
	put_text(p->file, name);
	fputs("}}", p->file);
}

/* ---- tracks ---- */

static int compare_tracks(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

/* Returns the track that equals `wanted`, and creates and names it if it is new. */
static struct track *track(struct perfetto *p, struct track wanted, const char *name)
{
	struct track **at = tfind(&wanted, &p->tracks, compare_tracks), *t;

	if (at)
		return *at;
	t = allocate(1, sizeof(*t));
	*t = wanted;
	allocated(tsearch(t, &p->tracks, compare_tracks));
	/* The tid is unique among all processes: a reader could treat equal tids as one thread. */
	t->tid = PERFETTO_OURS + 100 + ++p->tids;
	if (wanted.kind == TRACK_PROCESS)
		put_name(p, "process_name", wanted.pid, t->tid, name);
	else
		put_name(p, "thread_name", wanted.pid, t->tid, name);
	return t;
}

/* Writes the name of the process once, with its first event that has the name. Returns its pid for
 * the file. */
static pid_t process(struct perfetto *p, pid_t pid, const char *comm)
{
	static const char *const ours[] = {"kfdschedd", "driver", "GPUs", "not known"};
	char text[48];

	if (!pid)
		pid = OURS_UNKNOWN;
	if (pid > PERFETTO_OURS)
		comm = ours[pid - OURS_DAEMON];
	else if (!comm[0])
		return pid; /* a later event can have the name */
	snprintf(text, sizeof(text), "%s", comm);
	track(p, (struct track){.kind = TRACK_PROCESS, .pid = pid}, text);
	return pid;
}

/* ---- drawing ---- */

static void put_bar(struct perfetto *p, const struct track *t, const char *name, uint64_t from_ns,
		    uint64_t to_ns, const char *text)
{
	begin(p, "X", t->pid, t->tid, name);
	put_us(p->file, "ts", from_ns);
	put_us(p->file, "dur", to_ns > from_ns ? to_ns - from_ns : 0);
	if (text) {
		fputs(",\"args\":{\"text\":", p->file);
		put_text(p->file, text);
		putc('}', p->file);
	}
	putc('}', p->file);
}

static void put_instant(struct perfetto *p, const struct track *t, const struct trace_event *event)
{
	begin(p, "i", t->pid, t->tid, event->name);
	put_us(p->file, "ts", event->ns);
	fputs(",\"s\":\"t\",\"args\":{\"text\":", p->file);
	put_text(p->file, event->text);
	fputs("}}", p->file);
}

static void put_flow(struct perfetto *p, const struct track *t, bool start, uint64_t ns)
{
	begin(p, start ? "s" : "f", t->pid, t->tid, "cause");
	put_us(p->file, "ts", ns);
	fprintf(p->file, ",\"cat\":\"cause\",\"id\":%llu%s}", (unsigned long long)p->flows,
		start ? "" : ",\"bp\":\"e\"");
}

static void close_bar(struct perfetto *p, struct track *t, uint64_t ns, const char *text)
{
	if (t->open)
		put_bar(p, t, t->name, t->since_ns, ns, text);
	t->open = false;
}

/* Draws a bar for the time in which the queue has work or is blocked. Other events of the queue are
 * drawn as points on the same track. */
static void queue_event(struct perfetto *p, const struct trace_event *event)
{
	char name[64], gpu[GPU_NAME_SHORT];
	struct track *t;

	gpus_short(gpu, event->gpu_id);
	if (event->context)
		snprintf(name, sizeof(name), "queue %u.%u on GPU %s", event->context,
			 event->queue_id, gpu);
	else
		snprintf(name, sizeof(name), "queue %u on GPU %s", event->queue_id, gpu);
	t = track(p,
		  (struct track){.kind = TRACK_QUEUE,
				 .pid = process(p, event->pid, event->comm),
				 .a = (uint64_t)event->context << 32 | event->queue_id,
				 .b = event->gpu_id},
		  name);
	if (event->mark == TRACE_POINT) {
		put_instant(p, t, event);
		return;
	}
	/* If the same state is reported again, the bar continues. */
	if (t->open && ((event->mark == TRACE_QUEUE_ACTIVE && t->name[0] == 'a') ||
			(event->mark == TRACE_QUEUE_BLOCKED && t->name[0] == 'b')))
		return;
	close_bar(p, t, event->ns, NULL);
	t->open = event->mark != TRACE_QUEUE_IDLE;
	t->name = event->mark == TRACE_QUEUE_BLOCKED ? "blocked" : "active";
	t->since_ns = event->ns;
}

/* Draws the event on the track of each GPU that it concerns. */
static void node_events(struct perfetto *p, const struct trace_event *event)
{
	for (unsigned i = 0; i < CLIENT_SHM_NODES && event->gpu_ids[i]; i++) {
		char name[64], gpu[GPU_NAME_SHORT];
		struct track *t;

		snprintf(name, sizeof(name), "GPU %s", gpus_short(gpu, event->gpu_ids[i]));
		t = track(p,
			  (struct track){.kind = TRACK_NODE,
					 .pid = process(p, OURS_NODES, ""),
					 .a = event->gpu_ids[i]},
			  name);
		put_instant(p, t, event);
	}
}

/* Draws an arrow to the suspend from the work that caused it. */
static void put_cause(struct perfetto *p, const struct trace_event *event, const struct track *off)
{
	const struct track *t;

	if (!event->cause_pid || !event->cause_ns || event->cause_ns > event->ns)
		return;
	t = track(p, (struct track){.kind = TRACK_CAUSES, .pid = event->cause_pid},
		  "held processes for it");
	p->flows++;
	put_bar(p, t, "wants the GPU", event->cause_ns, event->cause_ns + 1000, event->text);
	put_flow(p, t, true, event->cause_ns);
	put_flow(p, off, false, event->ns - event->duration_ns);
}

/* Draws a bar from the start of a suspend call to the end of the resume call. The calls themselves
 * are bars on the same track. */
static void suspension(struct perfetto *p, const struct trace_event *event)
{
	uint64_t call_ns = event->ns - (event->duration_ns < event->ns ? event->duration_ns : 0);
	struct track *t = track(
		p, (struct track){.kind = TRACK_OFF, .pid = process(p, event->pid, event->comm)},
		"off the GPU");

	if (event->mark == TRACE_SUSPENDED) {
		if (t->open) /* suspended twice without a resume in between */
			close_bar(p, t, call_ns, NULL);
		t->open = true;
		t->name = "off the GPU";
		t->since_ns = call_ns;
		put_bar(p, t, "suspend", call_ns, event->ns, event->text);
		put_cause(p, event, t);
	} else {
		close_bar(p, t, event->ns, NULL);
		put_bar(p, t, "resume", call_ns, event->ns, event->text);
	}
	node_events(p, event);
}

/* Draws a bar for the time in which the process's shim holds its work back (TRACE_HELD to
 * TRACE_RELEASED). */
static void held(struct perfetto *p, const struct trace_event *event)
{
	struct track *t = track(
		p, (struct track){.kind = TRACK_HELD, .pid = process(p, event->pid, event->comm)},
		"holds itself");

	close_bar(p, t, event->ns, NULL);
	t->open = event->mark == TRACE_HELD;
	t->name = "held";
	t->since_ns = event->ns;
}

/* Draws a call (a bar) or another event (a point) of a thread of the driver or of HIP. */
static void thread_event(struct perfetto *p, const struct trace_event *event)
{
	bool driver = event->source == TRACE_DRIVER;
	char name[64];
	struct track *t;

	if (driver)
		snprintf(name, sizeof(name), "%s-%llu", event->comm,
			 (unsigned long long)event->thread);
	else
		snprintf(name, sizeof(name), "HIP thread %#llx", (unsigned long long)event->thread);
	t = track(p,
		  (struct track){.kind = driver ? TRACK_THREAD : TRACK_HIP,
				 .pid = process(p, driver ? OURS_DRIVER : event->pid, event->comm),
				 .a = event->thread},
		  name);
	if (event->mark == TRACE_SPAN)
		put_bar(p, t, event->name, event->ns, event->ns + event->duration_ns, event->text);
	else
		put_instant(p, t, event);
}

struct ending {
	struct perfetto *perfetto;
	pid_t pid; /* 0: all */
	uint64_t ns;
	const char *text;
};

static void close_one(const void *node, VISIT visit, void *context)
{
	struct track *t = *(struct track *const *)node;
	const struct ending *ending = context;

	if ((visit == postorder || visit == leaf) && (!ending->pid || t->pid == ending->pid))
		close_bar(ending->perfetto, t, ending->ns, ending->text);
}

/* Ends the open bars of a process that has ended; if `pid` is 0, of all processes. */
static void close_all(struct perfetto *p, pid_t pid, uint64_t ns, const char *text)
{
	twalk_r(p->tracks, close_one, &(struct ending){p, pid, ns, text});
}

/* Draws a point on the track "shim" or "daemon" of the process. An event without a process is drawn
 * on the track of the daemon itself. */
static void process_event(struct perfetto *p, const struct trace_event *event)
{
	bool shim = event->source == TRACE_SHIM;
	struct track *t =
		track(p,
		      (struct track){
			      .kind = TRACK_EVENTS,
			      .pid = process(p, event->pid ? event->pid : OURS_DAEMON, event->comm),
			      .a = shim},
		      shim ? "shim" : "daemon");

	put_instant(p, t, event);
}

struct perfetto *perfetto_begin(FILE *file)
{
	struct perfetto *p = allocate(1, sizeof(*p));

	p->file = file;
	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", file);
	return p;
}

void perfetto_add(struct perfetto *p, const struct trace_event *event)
{
	if (event->source == TRACE_DRIVER || event->source == TRACE_HIP) {
		thread_event(p, event);
		return;
	}
	switch (event->mark) {
	case TRACE_SUSPENDED:
	case TRACE_RESUMED:
		suspension(p, event);
		break;
	case TRACE_HELD:
	case TRACE_RELEASED:
		held(p, event);
		break;
	case TRACE_GONE:
		close_all(p, event->pid, event->ns, "the process has ended");
		break;
	default:
		break;
	}
	if (event->has_queue)
		queue_event(p, event);
	else
		process_event(p, event);
}

int perfetto_end(struct perfetto *p, uint64_t end_ns, json_t *about)
{
	char *text = json_dumps(about, JSON_COMPACT);
	int error;

	close_all(p, 0, end_ns, "it continued when the trace ended");
	fprintf(p->file, "\n],\"otherData\":%s}\n", text ? text : "{}");
	errno = 0;
	error = fflush(p->file) || ferror(p->file) ? (errno ? -errno : -EIO) : 0;
	free(text);
	tdestroy(p->tracks, free);
	free(p);
	return error;
}
