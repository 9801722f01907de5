// SPDX-License-Identifier: MIT
#include "cli/trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "cli/util/gpus.h"
#include "common/allocate.h"
#include "common/json_util.h"
#include "common/text.h"

static const char *const sources[TRACE_SOURCES] = {"shim", "daemon", "driver", "hip"};

void trace_copy(char *to, size_t size, const char *from, size_t bytes)
{
	size_t used = strnlen(from, bytes < size ? bytes : size - 1);

	memcpy(to, from, used);
	/* Drop the first bytes of a character that is cut. */
	if (used < bytes && (from[used] & 0xc0) == 0x80) {
		while (used && (to[used - 1] & 0xc0) == 0x80)
			used--;
		used -= used > 0;
	}
	to[used] = '\0';
	plain_text(to);
}

/* ---- timeline ---- */

/* A binary heap of events, ordered by time. */
struct timeline {
	uint64_t keep_ns;
	trace_out *out;
	void *context;
	size_t used, room, count;
	uint64_t order;
	struct waiting_event {
		/* `order`: events with the same time keep their order of arrival */
		uint64_t ns, order;
		struct trace_event *event;
	} * heap;
};

struct timeline *timeline_new(uint64_t keep_ns, size_t room, trace_out *out, void *context)
{
	struct timeline *timeline = allocate(1, sizeof(*timeline));

	*timeline =
		(struct timeline){.keep_ns = keep_ns, .out = out, .context = context, .room = room};
	timeline->heap = allocate(room, sizeof(*timeline->heap));
	return timeline;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->used; i++)
		free(timeline->heap[i].event);
	free(timeline->heap);
	free(timeline);
}

static bool before(const struct waiting_event *a, const struct waiting_event *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

/* Calls out() for the oldest event and removes it from the heap. */
static void pop(struct timeline *timeline)
{
	struct trace_event *event = timeline->heap[0].event;
	struct waiting_event last = timeline->heap[--timeline->used];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < timeline->used) {
		if (child + 1 < timeline->used &&
		    before(&timeline->heap[child + 1], &timeline->heap[child]))
			child++;
		if (!before(&timeline->heap[child], &last))
			break;
		timeline->heap[at] = timeline->heap[child];
		at = child;
	}
	timeline->heap[at] = last;
	timeline->count++;
	timeline->out(timeline->context, event);
	free(event);
}

void timeline_add(struct timeline *timeline, const struct trace_event *event)
{
	struct waiting_event one = {.ns = event->ns, .order = timeline->order++};
	size_t at;

	if (timeline->used == timeline->room)
		pop(timeline);
	one.event = allocate(1, sizeof(*event));
	*one.event = *event;
	for (at = timeline->used++; at > 0 && before(&one, &timeline->heap[(at - 1) / 2]);
	     at = (at - 1) / 2)
		timeline->heap[at] = timeline->heap[(at - 1) / 2];
	timeline->heap[at] = one;
}

void timeline_flush(struct timeline *timeline, uint64_t now_ns)
{
	while (timeline->used > 0 &&
	       (now_ns == UINT64_MAX || timeline->heap[0].ns + timeline->keep_ns <= now_ns))
		pop(timeline);
}

size_t timeline_count(const struct timeline *timeline)
{
	return timeline->count;
}

/* ---- formatting ---- */

/* Writes which queue, thread or GPU the event is about; "-" if none. Returns `text`. */
static const char *where(char text[static 64], const struct trace_event *event)
{
	char gpu[GPU_NAME_SHORT];

	if (event->has_queue && event->context)
		snprintf(text, 64, "queue %u.%u", event->context, event->queue_id);
	else if (event->has_queue)
		snprintf(text, 64, "queue %u", event->queue_id);
	else if (event->thread && event->source == TRACE_HIP)
		snprintf(text, 64, "thread %#llx", (unsigned long long)event->thread);
	else if (event->thread)
		snprintf(text, 64, "thread %llu", (unsigned long long)event->thread);
	else if (event->gpu_id)
		snprintf(text, 64, "GPU %s", gpus_short(gpu, event->gpu_id));
	else
		strcpy(text, "-");
	return text;
}

const char *trace_line(char text[static TRACE_LINE], const struct trace_event *event,
		       uint64_t begin_ns)
{
	char process_text[48] = "-", where_text[64];
	double s = ((double)event->ns - (double)begin_ns) / 1e9;

	if (event->pid && event->comm[0])
		snprintf(process_text, sizeof(process_text), "%d (%s)", (int)event->pid,
			 event->comm);
	else if (event->pid)
		snprintf(process_text, sizeof(process_text), "%d", (int)event->pid);
	else if (event->comm[0])
		snprintf(process_text, sizeof(process_text), "(%s)", event->comm);
	snprintf(text, TRACE_LINE, "%12.6f  %-6s  %-25s  %-12s  %s", s, sources[event->source],
		 process_text, where(where_text, event), event->text);
	return text;
}

json_t *trace_json(const struct trace_event *event, int64_t wall_ns)
{
	return json_pack("{sI sI ss so so so so so so so ss ss}", "monotonic_ns",
			 (json_int_t)event->ns, "time_us", ((json_int_t)event->ns + wall_ns) / 1000,
			 "source", sources[event->source], "pid",
			 json_number(event->pid, event->pid), "comm",
			 event->comm[0] ? json_string(event->comm) : json_null(), "context",
			 json_number(event->has_queue, event->context), "queue_id",
			 json_number(event->has_queue, event->queue_id), "gpu_id",
			 json_number(event->gpu_id, event->gpu_id), "thread",
			 json_number(event->thread, (int64_t)event->thread), "duration_ns",
			 json_number(event->has_duration, (int64_t)event->duration_ns), "name",
			 event->name, "text", event->text);
}
