// SPDX-License-Identifier: MIT
/*
 * The processes to follow are found in the daemon's status at the start of the trace, and in its
 * events afterwards.
 *
 * A thread follows the events in their shared memory: it takes the process whose dump is due first,
 * requests the dump from the daemon without holding the mutex, and stores the result under the
 * mutex. It does so often enough to miss none of the CLIENT_SHM_EVENTS events that the shared
 * memory keeps, and counts the events that it has missed nevertheless. Events from before the start
 * of the trace are left out. Instead, each queue that has work or waits at the start gets an event
 * with the time of the start.
 */
#include "cli/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/sources.h"
#include "cli/util/daemon_query.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "include/kfdsched.h"

#define MS 1000000u
#define FOLLOWED 64u /* limit of the processes that are followed at a time */
/* Shared memory keeps CLIENT_SHM_EVENTS events. The interval between two dumps is chosen such that
 * at most FEW new events are expected, but between SHORTEST_NS and LONGEST_NS(). The first interval
 * of a process is FIRST_NS. */
#define FEW (CLIENT_SHM_EVENTS / 4)
#define SHORTEST_NS (10 * MS)
#define FIRST_NS (20 * MS)
/* A longer interval loses more of the last moments of a process that ends; a shorter one costs the
 * daemon more. So the interval grows with the number of processes. */
#define LONGEST_NS(processes) ((45 + 5 * (uint64_t)(processes)) * MS)

struct followed {
	pid_t pid; /* 0: free entry */
	char comm[16];
	bool ended;
	bool seen;	 /* each event after `number` is emitted or counted in `lost` */
	bool busy;	 /* a dump is requested: the entry must not be reused */
	uint64_t number; /* number of the last event emitted */
	/* Time of the last dump (0: none yet) and of the next one; ns, CLOCK_MONOTONIC. */
	uint64_t queried_ns, next_ns;
	/* lost: number of missed events. unseen_ns: time from the last dump to the end of the
	 * process. */
	uint64_t lost, unseen_ns;
};

struct shm_source {
	struct trace_output *output;
	pthread_t thread;
	pthread_mutex_t mutex; /* protects the fields below */
	pthread_cond_t changed;
	bool ending;
	struct followed list[FOLLOWED];
};

/* ---- one dump ---- */

/* Returns true if `events`, the events that the client shared memory of a process holds, have one
 * of this queue since the start of the trace. */
static bool has_event(const struct shm_source *shm_source, const json_t *events,
		      const json_t *queue)
{
	static const char *const keys[] = {"context", "queue_id", "gpu_id"};
	static const char *const same[] = {"context", "id", "gpu_id"};
	const json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
	{
		bool equal = (uint64_t)json_integer_value(json_object_get(event, "monotonic_us")) *
				     1000 >=
			     shm_source->output->begin_ns;

		for (size_t k = 0; equal && k < 3; k++)
			equal = json_integer_value(json_object_get(event, keys[k])) ==
				json_integer_value(json_object_get(queue, same[k]));
		if (equal)
			return true;
	}
	return false;
}

/* For each queue that has work or waits, emits an event with the time of the trace's start. Leaves
 * out queues of which the dump has an event, because their state can have changed since the
 * start. */
static void emit_beginning(const struct shm_source *shm_source, const struct followed *one,
			   const json_t *shm)
{
	const json_t *queue, *events = json_object_get(shm, "events");
	size_t i;

	json_array_foreach(json_object_get(shm, "queues"), i, queue)
	{
		const char *state = json_string_value(json_object_get(queue, "state"));
		bool active = state && strcmp(state, "active") == 0;
		struct trace_event event = {.source = TRACE_SHIM,
					    .ns = shm_source->output->begin_ns,
					    .pid = one->pid,
					    .has_queue = true,
					    .mark = active ? TRACE_QUEUE_ACTIVE
							   : TRACE_QUEUE_BLOCKED};

		if (!state || strcmp(state, "idle") == 0 || has_event(shm_source, events, queue))
			continue;
		memcpy(event.comm, one->comm, sizeof(event.comm));
		event.context = (uint32_t)json_integer_value(json_object_get(queue, "context"));
		event.queue_id = (uint32_t)json_integer_value(json_object_get(queue, "id"));
		event.gpu_id = (uint32_t)json_integer_value(json_object_get(queue, "gpu_id"));
		strcpy(event.name, active ? "active" : "blocked");
		strcpy(event.text, active ? "queue has work since before the trace"
					  : "queue waits since before the trace");
		trace_output_add(shm_source->output, &event);
	}
}

/* Emits the events of the dump that are new, and counts missed ones. Returns how many were new. */
static uint64_t emit_events(const struct shm_source *shm_source, struct followed *one,
			    const json_t *shm)
{
	const json_t *event;
	uint64_t count = 0, newest;
	size_t i;

	newest = (uint64_t)json_integer_value(json_object_get(shm, "events_number"));
	if (newest < one->number)
		one->number = 0; /* the shared memory is new, after a daemon restart or an exec */
	json_array_foreach(json_object_get(shm, "events"), i, event)
	{
		uint64_t number = (uint64_t)json_integer_value(json_object_get(event, "number"));
		struct trace_event decoded;

		if (number <= one->number)
			continue;
		if (one->seen && number > one->number + 1)
			one->lost += number - one->number - 1;
		one->number = number;
		one->seen = true;
		count++;
		if (decode_shm(event, one->pid, one->comm, &decoded) &&
		    decoded.ns >= shm_source->output->begin_ns)
			trace_output_add(shm_source->output, &decoded);
	}
	one->seen = true;
	return count;
}

/* Requests a dump of the shared memory, emits its new events, and sets the time of the next dump.
 * Returns false if the daemon does not know the process (any more). */
static bool query_shm(const struct shm_source *shm_source, struct followed *one, unsigned processes)
{
	uint64_t now = clock_ns(), before = one->queried_ns, longest = LONGEST_NS(processes), count;
	json_t *dump = NULL, *shm;
	int rc = query_daemon(shm_source->output->options->socket, one->pid, &dump);

	if (rc) {
		one->next_ns = clock_ns() + longest;
		return rc != -ESRCH;
	}
	shm = source_daemon_shm(dump);
	if (!one->seen)
		emit_beginning(shm_source, one, shm);
	count = emit_events(shm_source, one, shm);
	json_decref(dump);
	one->queried_ns = now;
	/* The interval assumes that the rate of events stays the same. */
	now = clock_ns();
	one->next_ns = longest;
	if (!before)
		one->next_ns = FIRST_NS;
	else if (count)
		one->next_ns = (one->queried_ns - before) * FEW / count;
	if (one->next_ns > longest)
		one->next_ns = longest;
	if (one->next_ns < SHORTEST_NS)
		one->next_ns = SHORTEST_NS;
	one->next_ns += now;
	return true;
}

/* ---- the thread ---- */

/* Returns the number of followed processes that have not ended. */
static unsigned count(const struct shm_source *shm_source)
{
	unsigned n = 0;

	for (size_t i = 0; i < FOLLOWED; i++)
		n += shm_source->list[i].pid && !shm_source->list[i].ended;
	return n;
}

static struct followed *most_urgent(struct shm_source *shm_source)
{
	struct followed *best = NULL;

	for (size_t i = 0; i < FOLLOWED; i++) {
		struct followed *one = &shm_source->list[i];

		if (one->pid && !one->ended && (!best || one->next_ns < best->next_ns))
			best = one;
	}
	return best;
}

static void sleep_until(struct shm_source *shm_source, uint64_t ns)
{
	const struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u),
				       .tv_nsec = (long)(ns % 1000000000u)};

	pthread_cond_timedwait(&shm_source->changed, &shm_source->mutex, &until);
}

/* Requests a dump of a process. Releases the mutex meanwhile: the reply can take long. */
static void query_one(struct shm_source *shm_source, struct followed *one)
{
	struct followed copy = *one;
	unsigned processes = count(shm_source);
	bool known;

	one->busy = true;
	pthread_mutex_unlock(&shm_source->mutex);
	known = query_shm(shm_source, &copy, processes);
	pthread_mutex_lock(&shm_source->mutex);
	copy.ended = one->ended || !known;
	copy.unseen_ns = copy.ended && copy.queried_ns ? clock_ns() - copy.queried_ns : 0;
	*one = copy;
}

/* Runs in the thread: requests the dump of each process whenever it is due, and once more when the
 * trace ends. */
static void *follow_all(void *argument)
{
	struct shm_source *shm_source = argument;

	pthread_mutex_lock(&shm_source->mutex);
	while (!shm_source->ending) {
		struct followed *one = most_urgent(shm_source);
		uint64_t now = clock_ns();

		if (!one)
			sleep_until(shm_source, now + 1000 * MS);
		else if (one->next_ns > now)
			sleep_until(shm_source, one->next_ns);
		else
			query_one(shm_source, one);
	}
	for (size_t i = 0; i < FOLLOWED; i++)
		if (shm_source->list[i].pid && !shm_source->list[i].ended)
			query_one(shm_source, &shm_source->list[i]);
	pthread_mutex_unlock(&shm_source->mutex);
	return NULL;
}

/* Starts the thread that follows shared memory. Returns NULL if it cannot be started. */
static struct shm_source *start_shm(struct trace_output *output)
{
	struct shm_source *shm_source = allocate(1, sizeof(*shm_source));
	pthread_condattr_t attributes;

	shm_source->output = output;
	pthread_mutex_init(&shm_source->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&shm_source->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&shm_source->thread, NULL, follow_all, shm_source) == 0)
		return shm_source;
	free(shm_source);
	return NULL;
}

/* Follows process `pid`. `fresh`: the process has just connected, so that all of its events belong
 * to the trace. Returns false if too many processes are followed already; true also if `pid` is
 * followed already. */
static bool follow_shm(struct shm_source *shm_source, pid_t pid, const char *comm, bool fresh)
{
	struct followed *free_entry = NULL;
	bool there = false;

	pthread_mutex_lock(&shm_source->mutex);
	for (size_t i = 0; i < FOLLOWED; i++) {
		struct followed *one = &shm_source->list[i];

		there |= one->pid == pid && !one->ended;
		if (!one->pid ||
		    (!free_entry && one->ended && !one->busy && !one->lost && !one->unseen_ns))
			free_entry = free_entry && free_entry->pid == 0 ? free_entry : one;
	}
	if (!there && free_entry) {
		*free_entry = (struct followed){.pid = pid, .seen = fresh};
		trace_copy(free_entry->comm, sizeof(free_entry->comm), comm, strlen(comm));
		pthread_cond_signal(&shm_source->changed);
	}
	pthread_mutex_unlock(&shm_source->mutex);
	return there || free_entry;
}

/* Notes that the process has ended. Its shared memory is not requested any more. */
static void shm_ended(struct shm_source *shm_source, pid_t pid)
{
	pthread_mutex_lock(&shm_source->mutex);
	for (size_t i = 0; i < FOLLOWED; i++) {
		struct followed *one = &shm_source->list[i];

		if (one->pid != pid || one->ended)
			continue;
		one->ended = true;
		if (one->queried_ns)
			one->unseen_ns = clock_ns() - one->queried_ns;
	}
	pthread_mutex_unlock(&shm_source->mutex);
}

/* Records notes about the events of a process that are missing in the trace. */
static void print_unseen(struct trace_output *output, const struct followed *one)
{
	if (one->lost)
		trace_note(output,
			   "%llu events of process %d are missing in the trace: its shared memory "
			   "was not read in time",
			   (unsigned long long)one->lost, (int)one->pid);
	if (one->unseen_ns)
		trace_note(output,
			   "the queue events of process %d in its last %llu ms are missing in the "
			   "trace",
			   (int)one->pid, (unsigned long long)(one->unseen_ns / MS) + 1);
}

/* Makes the thread request each dump a last time, waits for its end, and frees `shm_source`. */
static void end_shm(struct shm_source *shm_source)
{
	pthread_mutex_lock(&shm_source->mutex);
	shm_source->ending = true;
	pthread_cond_signal(&shm_source->changed);
	pthread_mutex_unlock(&shm_source->mutex);
	pthread_join(shm_source->thread, NULL);
	for (size_t i = 0; i < FOLLOWED; i++)
		if (shm_source->list[i].pid)
			print_unseen(shm_source->output, &shm_source->list[i]);
	pthread_cond_destroy(&shm_source->changed);
	pthread_mutex_destroy(&shm_source->mutex);
	free(shm_source);
}

/* ---- the daemon ---- */

static bool is_chosen(const struct trace_daemon *d, pid_t pid)
{
	return trace_is_chosen(d->output->options, pid);
}

/* Follows the shared memory of a wanted process. Records a note if too many are followed
 * already. */
static void follow(struct trace_daemon *d, pid_t pid, const char *comm, bool fresh)
{
	if (pid > 0 && is_chosen(d, pid) && !follow_shm(d->shm_source, pid, comm, fresh))
		trace_note(d->output,
			   "the queues of process %d (%s) are not traced, because those of %u "
			   "others are, which is the limit: choose processes with --pid",
			   (int)pid, comm, FOLLOWED);
}

/* Adds the state at the start of the trace: which processes there are, and which of them
 * are suspended. */
static void take_status(struct trace_daemon *d, const json_t *status)
{
	const json_t *process, *node;
	size_t i, k;

	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		struct trace_event event = {.source = TRACE_DAEMON, .ns = d->output->begin_ns};
		const char *comm = decode_text(process, "comm");

		event.pid = (pid_t)json_integer_value(json_object_get(process, "pid"));
		trace_copy(event.comm, sizeof(event.comm), comm, strlen(comm));
		follow(d, event.pid, event.comm, false);
		json_array_foreach(json_object_get(process, "nodes"), k,
				   node) if (k < CLIENT_SHM_NODES) event.gpu_ids[k] =
			(uint32_t)json_integer_value(json_object_get(node, "gpu_id"));
		if (!is_chosen(d, event.pid))
			continue;
		snprintf(event.name, sizeof(event.name), "there");
		snprintf(event.text, sizeof(event.text),
			 "process %d (%s) is registered, %s, level %s", (int)event.pid, event.comm,
			 decode_text(process, "state"), decode_text(process, "level"));
		event.mark = strcmp(decode_text(process, "state"), "suspended") == 0
				     ? TRACE_SUSPENDED
				     : TRACE_POINT;
		trace_output_add(d->output, &event);
	}
}

/* Adds an event of the daemon. An event with a process is left out unless this process, or the
 * process that caused the event, is wanted. */
static void take_event(struct trace_daemon *d, json_t *json)
{
	struct trace_event event;

	if (!decode_daemon(json, trace_wall_ns(), &event))
		return;
	if (event.mark == TRACE_GONE)
		shm_ended(d->shm_source, event.pid);
	else if (event.pid)
		follow(d, event.pid, event.comm, strcmp(event.name, "came") == 0);
	if (!event.pid || is_chosen(d, event.pid) ||
	    (event.cause_pid && is_chosen(d, event.cause_pid)))
		trace_output_add(d->output, &event);
}

void trace_daemon_read(struct trace_daemon *d)
{
	char text[KFDSCHED_EVENT_BYTES + 1];
	ssize_t n;

	while (d->events_fd >= 0 && (n = kfdsched_next_event(d->daemon, d->events_fd, text,
							     sizeof(text), 0)) != -EAGAIN) {
		json_t *json = n > 0 ? json_loads(text, 0, NULL) : NULL;

		if (json)
			take_event(d, json);
		json_decref(json);
		if (n < 0 && n != -EMSGSIZE) {
			close(d->events_fd);
			d->events_fd = kfdsched_events(d->daemon);
			trace_note(d->output, "the daemon was not running for a moment%s",
				   d->events_fd < 0
					   ? ", and still is not: its later events are missing in "
					     "the trace"
					   : ": its events of that time are missing in the trace");
		}
	}
}

bool trace_daemon_open(struct trace_daemon *d, struct trace_output *output)
{
	*d = (struct trace_daemon){.output = output, .events_fd = -1};
	d->daemon = allocated(kfdsched_open(output->options->socket));
	d->events_fd = kfdsched_events(d->daemon);
	if (d->events_fd >= 0)
		return true;
	trace_note(output, "the trace has no decisions of the daemon: %s",
		   kfdsched_errmsg(d->daemon));
	return false;
}

/* Records a note for each chosen process that the daemon does not know. */
static void print_unknown(struct trace_daemon *d, const json_t *status)
{
	const struct trace_options *options = d->output->options;
	const json_t *process;
	size_t k;

	for (unsigned i = 0; i < options->pids; i++) {
		bool known = false;

		json_array_foreach(json_object_get(status, "processes"), k, process) known |=
			json_integer_value(json_object_get(process, "pid")) == options->pid[i];
		if (!known)
			trace_note(d->output,
				   "process %d is not registered with the daemon: its queues are "
				   "not in the trace unless it uses a GPU with libkfdshim.so later",
				   (int)options->pid[i]);
	}
}

int trace_daemon_follow(struct trace_daemon *d)
{
	json_t *status = NULL;

	d->shm_source = start_shm(d->output);
	if (!d->shm_source)
		return cli_failed(&cmd_trace, "cannot start the thread that reads the shared "
					      "memory of the processes");
	if (query_daemon(d->output->options->socket, 0, &status) == 0) {
		take_status(d, status);
		print_unknown(d, status);
	}
	json_decref(status);
	return CLI_GO_ON;
}

void trace_daemon_end(struct trace_daemon *d)
{
	if (d->shm_source)
		end_shm(d->shm_source);
	d->shm_source = NULL;
}

void trace_daemon_close(struct trace_daemon *d)
{
	kfdsched_close(d->daemon);
	d->daemon = NULL;
}
