// SPDX-License-Identifier: MIT
/* One thread serves all processes. It takes the process whose dump is due first, requests the dump
 * without holding the mutex, and stores the result under the mutex. */
#include "cli/trace/source_shm.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect/sources.h"
#include "cli/trace/timeline_decode.h"
#include "cli/util/daemon_query.h"
#include "common/clock.h"

#define MS 1000000u
/* Shared memory keeps CLIENT_SHM_EVENTS events. The interval between two dumps is chosen such that at
 * most FEW new events are expected, but within these bounds. */
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
	bool seen;	 /* events after `number` are emitted or counted as lost */
	bool busy;	 /* a dump is requested: the entry must not be reused */
	uint64_t number; /* number of the last event emitted */
	/* Time of the last dump (0: none yet) and of the next one; ns, CLOCK_MONOTONIC. */
	uint64_t queried_ns, next_ns;
	/* Missed events, and the time between the last dump and the end of the process. */
	uint64_t lost, unseen_ns;
};

struct shm_source {
	const char *socket;
	uint64_t begin_ns;
	shm_source_emit *emit;
	void *context;
	pthread_t thread;
	pthread_mutex_t mutex; /* protects the fields below */
	pthread_cond_t changed;
	bool ending;
	struct followed list[SHM_SOURCE_PROCESSES];
};

/* ---- one dump ---- */

/* Returns true if the dump has an event of this queue since the start of the trace. */
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
			     shm_source->begin_ns;

		for (size_t k = 0; equal && k < 3; k++)
			equal = json_integer_value(json_object_get(event, keys[k])) ==
				json_integer_value(json_object_get(queue, same[k]));
		if (equal)
			return true;
	}
	return false;
}

/* Emits an event at the start of the trace for each queue that had work or waited then. A queue
 * with an event in the dump is left out, because its state can have changed since. */
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
					    .ns = shm_source->begin_ns,
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
		shm_source->emit(shm_source->context, &event);
	}
}

/* Emits the new events. Returns their number. */
static uint64_t emit_events(const struct shm_source *shm_source, struct followed *one,
			    const json_t *shm)
{
	const json_t *event;
	uint64_t count = 0, newest;
	size_t i;

	newest = (uint64_t)json_integer_value(json_object_get(shm, "events_number"));
	if (newest < one->number)
		one->number = 0; /* new shared memory, after a restart of the daemon or an exec */
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
		    decoded.ns >= shm_source->begin_ns)
			shm_source->emit(shm_source->context, &decoded);
	}
	one->seen = true;
	return count;
}

/* Requests a dump. Returns false if the daemon does not know the process (any more). */
static bool query(const struct shm_source *shm_source, struct followed *one, unsigned processes)
{
	uint64_t now = clock_ns(), before = one->queried_ns, longest = LONGEST_NS(processes), count;
	json_t *dump = NULL, *shm;
	int rc = query_daemon(shm_source->socket, one->pid, &dump);

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

/* Number of followed processes that have not ended. */
static unsigned count(const struct shm_source *shm_source)
{
	unsigned n = 0;

	for (size_t i = 0; i < SHM_SOURCE_PROCESSES; i++)
		n += shm_source->list[i].pid && !shm_source->list[i].ended;
	return n;
}

static struct followed *most_urgent(struct shm_source *shm_source)
{
	struct followed *best = NULL;

	for (size_t i = 0; i < SHM_SOURCE_PROCESSES; i++) {
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

/* Requests a dump without the mutex, because the daemon's reply can take long. */
static void query_one(struct shm_source *shm_source, struct followed *one)
{
	struct followed copy = *one;
	unsigned processes = count(shm_source);
	bool known;

	one->busy = true;
	pthread_mutex_unlock(&shm_source->mutex);
	known = query(shm_source, &copy, processes);
	pthread_mutex_lock(&shm_source->mutex);
	copy.ended = one->ended || !known;
	copy.unseen_ns = copy.ended && copy.queried_ns ? clock_ns() - copy.queried_ns : 0;
	*one = copy;
}

/* The thread. When the trace ends, each process is dumped a last time. */
static void *follow(void *argument)
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
	for (size_t i = 0; i < SHM_SOURCE_PROCESSES; i++)
		if (shm_source->list[i].pid && !shm_source->list[i].ended)
			query_one(shm_source, &shm_source->list[i]);
	pthread_mutex_unlock(&shm_source->mutex);
	return NULL;
}

struct shm_source *shm_source_start(const char *socket, uint64_t begin_ns, shm_source_emit *emit,
				    void *context)
{
	struct shm_source *shm_source = calloc(1, sizeof(*shm_source));
	pthread_condattr_t attributes;

	if (!shm_source)
		return NULL;
	shm_source->socket = socket;
	shm_source->begin_ns = begin_ns;
	shm_source->emit = emit;
	shm_source->context = context;
	pthread_mutex_init(&shm_source->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&shm_source->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&shm_source->thread, NULL, follow, shm_source) == 0)
		return shm_source;
	free(shm_source);
	return NULL;
}

bool shm_source_follow(struct shm_source *shm_source, pid_t pid, const char *comm, bool fresh)
{
	struct followed *free_entry = NULL;
	bool there = false;

	pthread_mutex_lock(&shm_source->mutex);
	for (size_t i = 0; i < SHM_SOURCE_PROCESSES; i++) {
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

void shm_source_ended(struct shm_source *shm_source, pid_t pid)
{
	pthread_mutex_lock(&shm_source->mutex);
	for (size_t i = 0; i < SHM_SOURCE_PROCESSES; i++) {
		struct followed *one = &shm_source->list[i];

		if (one->pid != pid || one->ended)
			continue;
		one->ended = true;
		if (one->queried_ns)
			one->unseen_ns = clock_ns() - one->queried_ns;
	}
	pthread_mutex_unlock(&shm_source->mutex);
}

void shm_source_end(struct shm_source *shm_source,
		    void (*on_loss)(void *context, pid_t pid, uint64_t lost, uint64_t unseen_ns),
		    void *context)
{
	pthread_mutex_lock(&shm_source->mutex);
	shm_source->ending = true;
	pthread_cond_signal(&shm_source->changed);
	pthread_mutex_unlock(&shm_source->mutex);
	pthread_join(shm_source->thread, NULL);
	for (size_t i = 0; i < SHM_SOURCE_PROCESSES; i++)
		if (shm_source->list[i].pid &&
		    (shm_source->list[i].lost || shm_source->list[i].unseen_ns))
			on_loss(context, shm_source->list[i].pid, shm_source->list[i].lost,
				shm_source->list[i].unseen_ns);
	pthread_cond_destroy(&shm_source->changed);
	pthread_mutex_destroy(&shm_source->mutex);
	free(shm_source);
}
