// SPDX-License-Identifier: MIT
#include "cli/trace/trace.h"

#include <inttypes.h>
#include <string.h>

#include "cli/util/event_text.h"

/* ---- the daemon ---- */

/* Returns the integer of a key; 0 if it is missing or not a positive integer. */
static uint64_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) && json_integer_value(value) > 0
		       ? (uint64_t)json_integer_value(value)
		       : 0;
}

const char *decode_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void copy_text(char *to, size_t size, const char *from)
{
	trace_copy(to, size, from, strlen(from));
}

/* Fills in what only the event of a suspend or resume has: the GPUs, the duration and, if the call
 * succeeded, out->mark and the process that caused it. */
static void take_suspension(const json_t *event, struct trace_event *out)
{
	const json_t *nodes = json_object_get(event, "gpu_ids");
	uint64_t latency_us = number(event, "latency_us"), before_ns;

	for (size_t i = 0; i < CLIENT_SHM_NODES && i < json_array_size(nodes); i++)
		out->gpu_ids[i] = (uint32_t)json_integer_value(json_array_get(nodes, i));
	if (json_array_size(nodes) == 1)
		out->gpu_id = out->gpu_ids[0];
	out->has_duration = true;
	out->duration_ns = number(event, "duration_us") * 1000;
	if (!json_is_null(json_object_get(event, "error")))
		return; /* the call failed, so no state has changed */
	out->mark = strcmp(out->name, "suspend") == 0 ? TRACE_SUSPENDED : TRACE_RESUMED;
	out->cause_pid = (pid_t)number(event, "cause_pid");
	before_ns = out->duration_ns + latency_us * 1000;
	if (latency_us && before_ns < out->ns)
		out->cause_ns = out->ns - before_ns;
}

bool decode_daemon(json_t *event, int64_t wall_ns, struct trace_event *out)
{
	char text[EVENT_TEXT];
	int64_t ns = (int64_t)number(event, "time_us") * 1000 - wall_ns;

	if (ns <= 0 || !decode_text(event, "kind")[0])
		return false;
	*out = (struct trace_event){.source = TRACE_DAEMON, .ns = (uint64_t)ns};
	out->pid = (pid_t)number(event, "pid");
	copy_text(out->comm, sizeof(out->comm), decode_text(event, "comm"));
	copy_text(out->name, sizeof(out->name), decode_text(event, "kind"));
	copy_text(out->text, sizeof(out->text), event_text(text, event));
	if (strcmp(out->name, "suspend") == 0 || strcmp(out->name, "resume") == 0)
		take_suspension(event, out);
	else if (strcmp(out->name, "went") == 0)
		out->mark = TRACE_GONE;
	else
		out->gpu_id = (uint32_t)number(event, "gpu_id");
	return true;
}

/* ---- the shim ---- */

/* Returns the CLIENT_SHM_EVENT_* with this name; CLIENT_SHM_EVENT_NONE if there is none. */
static uint32_t shm_kind(const char *word, size_t bytes)
{
	for (uint32_t kind = CLIENT_SHM_EVENT_NONE + 1; kind < CLIENT_SHM_EVENT_KINDS; kind++) {
		const char *name = client_shm_event_name(kind);

		if (strlen(name) == bytes && memcmp(name, word, bytes) == 0)
			return kind;
	}
	return CLIENT_SHM_EVENT_NONE;
}

/* Sets out->mark (which bar the event begins or ends), out->name and out->text. `kind`, `value`: as
 * in channel/client_shm.h. */
static void explain(struct trace_event *out, uint32_t kind, uint64_t value)
{
	static const enum trace_mark marks[CLIENT_SHM_EVENT_KINDS] = {
		[CLIENT_SHM_EVENT_QUEUE_DESTROYED] = TRACE_QUEUE_IDLE,
		[CLIENT_SHM_EVENT_QUEUE_ACTIVE] = TRACE_QUEUE_ACTIVE,
		[CLIENT_SHM_EVENT_QUEUE_IDLE] = TRACE_QUEUE_IDLE,
		[CLIENT_SHM_EVENT_QUEUE_BLOCKED] = TRACE_QUEUE_BLOCKED,
		[CLIENT_SHM_EVENT_HELD] = TRACE_HELD,
		[CLIENT_SHM_EVENT_RELEASED] = TRACE_RELEASED,
	};
	static const char *const runtimes[] = {"not known yet", "enabled", "never enabled"};
	unsigned long long v = value;
	char *text = out->text;
	size_t size = sizeof(out->text);

	out->mark = marks[kind];
	copy_text(out->name, sizeof(out->name), client_shm_event_name(kind));
	switch (kind) {
	case CLIENT_SHM_EVENT_QUEUE_CREATED:
		snprintf(text, size, "queue created, of KFD type %llu", v);
		break;
	case CLIENT_SHM_EVENT_QUEUE_UPDATED:
		snprintf(text, size, "queue updated: %llu %%, priority %llu", v >> 32,
			 v & 0xffffffffu);
		break;
	case CLIENT_SHM_EVENT_QUEUE_DESTROYED:
		snprintf(text, size, "queue destroyed");
		break;
	case CLIENT_SHM_EVENT_QUEUE_ACTIVE:
	case CLIENT_SHM_EVENT_QUEUE_IDLE:
	case CLIENT_SHM_EVENT_QUEUE_BLOCKED:
		snprintf(text, size, "queue %s, write pointer %llu",
			 kind == CLIENT_SHM_EVENT_QUEUE_ACTIVE ? "has work"
			 : kind == CLIENT_SHM_EVENT_QUEUE_IDLE
				 ? "is idle"
				 : "waits for a signal of another queue or "
				   "process",
			 v);
		break;
	case CLIENT_SHM_EVENT_HELD:
	case CLIENT_SHM_EVENT_RELEASED:
		snprintf(text, size, "process %s itself, by level %s",
			 kind == CLIENT_SHM_EVENT_HELD ? "holds" : "releases",
			 client_shm_level_name(value <= UINT32_MAX ? (uint32_t)value : UINT32_MAX));
		break;
	case CLIENT_SHM_EVENT_SESSION:
		snprintf(text, size, "debug session on itself %s", value ? "begun" : "ended");
		break;
	case CLIENT_SHM_EVENT_RUNTIME:
		snprintf(text, size, "runtime is %s", value < 3 ? runtimes[value] : "?");
		break;
	default:
		snprintf(text, size, "the action of the previous event failed: %s",
			 strerror(value < 4096 ? (int)value : 0));
	}
}

bool decode_shm(const json_t *event, pid_t pid, const char *comm, struct trace_event *out)
{
	const char *word = decode_text(event, "kind");
	uint32_t kind = shm_kind(word, strlen(word));
	uint64_t us = number(event, "monotonic_us");

	if (kind == CLIENT_SHM_EVENT_NONE || us == 0 || us > UINT64_MAX / 1000)
		return false;
	*out = (struct trace_event){.source = TRACE_SHIM, .pid = pid, .ns = us * 1000};
	copy_text(out->comm, sizeof(out->comm), comm);
	out->gpu_id = (uint32_t)number(event, "gpu_id");
	out->has_queue = out->gpu_id != 0;
	out->context = (uint32_t)number(event, "context");
	out->queue_id = (uint32_t)number(event, "queue_id");
	explain(out, kind, (uint64_t)json_integer_value(json_object_get(event, "value")));
	return true;
}

bool decode_log(const char *line, size_t bytes, uint64_t ns, struct trace_event *out,
		uint64_t *count)
{
	char copy[256], word[32];
	unsigned context, gpu;
	int pid, queue;
	uint64_t value;
	uint32_t kind;

	if (bytes >= sizeof(copy))
		return false;
	memcpy(copy, line, bytes);
	copy[bytes] = '\0';
	if (sscanf(copy, "kfdshim[%d]: event %" SCNu64 ": %31s queue %u.%d gpu %u value %" SCNx64,
		   &pid, count, word, &context, &queue, &gpu, &value) != 7)
		return false;
	kind = shm_kind(word, strlen(word));
	if (kind == CLIENT_SHM_EVENT_NONE || pid <= 0)
		return false;
	*out = (struct trace_event){.source = TRACE_SHIM, .pid = pid, .ns = ns, .gpu_id = gpu};
	out->has_queue = gpu != 0 && queue >= 0;
	if (out->has_queue) {
		out->context = context;
		out->queue_id = (uint32_t)queue;
	}
	explain(out, kind, value);
	return true;
}

/* ---- HIP ---- */

static struct open_call *find_call(struct open_calls *open, const struct trace_event *event)
{
	for (unsigned i = 0; i < OPEN_CALLS; i++) {
		struct open_call *call = &open->call[i];

		if (call->us && call->pid == (uint64_t)event->pid &&
		    call->thread == event->thread && strcmp(call->name, event->name) == 0)
			return call;
	}
	return NULL;
}

static void call_begins(struct open_calls *open, const struct trace_event *event, uint64_t us)
{
	struct open_call *call = find_call(open, event);

	if (!call)
		call = &open->call[open->next++ % OPEN_CALLS];
	*call = (struct open_call){
		.pid = (uint64_t)event->pid, .thread = event->thread, .us = us ? us : 1};
	memcpy(call->name, event->name, sizeof(call->name));
}

/* Turns the event of a call's return into a span. The duration is in the log, or is computed from
 * the start of the call that call_begins() has remembered. */
static void call_ends(struct open_calls *open, const struct hiplog_record *record,
		      struct trace_event *out)
{
	struct open_call *call = find_call(open, out);
	uint64_t us = 0;

	if (record->has & HIPLOG_HAS_DURATION)
		us = record->duration_us;
	else if (call && call->us <= record->us)
		us = record->us - call->us;
	else
		return; /* the event stays a TRACE_POINT: the start is not known */
	if (call)
		call->us = 0;
	if (us > record->us)
		return;
	out->mark = TRACE_SPAN;
	out->has_duration = true;
	out->duration_ns = us * 1000;
	out->ns -= out->duration_ns;
}

bool decode_hip(const struct hiplog_record *record, pid_t pid, struct open_calls *open,
		struct trace_event *out)
{
	static const char *const names[HIPLOG_KINDS] = {
		[HIPLOG_CREATED] = "hardware queue created",
		[HIPLOG_ACQUIRED] = "hardware queue acquired",
		[HIPLOG_RELEASED] = "hardware queue released",
		[HIPLOG_DELETED] = "hardware queue deleted",
		[HIPLOG_ABORTED] = "hardware queue aborted",
		[HIPLOG_DISPATCH] = "dispatch",
		[HIPLOG_BARRIER] = "barrier",
		[HIPLOG_PACKET] = "packet",
		[HIPLOG_KERNEL] = "kernel",
		[HIPLOG_COPY] = "copy",
	};
	struct hiplog_text what = record->name.bytes ? record->name : record->message;

	if (record->kind == HIPLOG_OTHER || record->kind == HIPLOG_POOL ||
	    record->us > UINT64_MAX / 1000)
		return false;
	*out = (struct trace_event){.source = TRACE_HIP, .ns = record->us * 1000, .pid = pid};
	if (record->has & HIPLOG_HAS_PID && record->pid <= INT32_MAX)
		out->pid = (pid_t)record->pid;
	if (record->has & HIPLOG_HAS_THREAD)
		out->thread = record->thread;
	if (names[record->kind])
		copy_text(out->name, sizeof(out->name), names[record->kind]);
	else
		trace_copy(out->name, sizeof(out->name), what.text, what.bytes);
	trace_copy(out->text, sizeof(out->text), record->message.text, record->message.bytes);
	if (record->kind == HIPLOG_KERNEL)
		trace_copy(out->name, sizeof(out->name), record->name.text, record->name.bytes);
	if (record->kind == HIPLOG_CALL) {
		call_begins(open, out, record->us);
		return false; /* reported when the call returns */
	}
	if (record->kind == HIPLOG_RETURN)
		call_ends(open, record, out);
	return true;
}
