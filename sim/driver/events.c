// SPDX-License-Identifier: MIT
/*
 * Implements KFD events and waiting for them, as in the driver (kfd_events.c of Linux 6.12). An
 * auto-reset event is reset by the waiter that it wakes. Each time an event is set its age
 * increases, so that a waiter detects signals that it has missed (KFD 1.14).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "sim/driver/memory.h"
#include "sim/driver/queue.h"
#include "sim/host/time_slots.h"

#define EVENT_PAGE_SLOTS KFD_SIGNAL_EVENT_LIMIT
#define EVENTS_MAX (2 * EVENT_PAGE_SLOTS) /* upper half: events without a slot */
#define EVENT_MMAP_OFFSET (2ull << 62)	  /* what the driver returns for the page */
#define TIMEOUT_NEVER 0xffffffffu
/* most events of one wait, because the kernel copies their array in one piece */
#define WAIT_MAX (1u << 20)
/* a thread's waits are reported if at least this many of them end at once in one second */
#define SPIN_MIN 1000u
/* number of slots if no page was set; the oldest runtimes map this number */
#define SLOTS_UNMAPPED 256u
#define SLOT_EMPTY UINT64_MAX

/* struct kfd_event_data as of KFD 1.14, because system headers may lack `last_age`. */
struct event_data {
	union {
		struct kfd_hsa_memory_exception_data memory;
		uint64_t last_age;
	};
	uint64_t ext;
	uint32_t event_id;
	uint32_t pad;
};
_Static_assert(sizeof(struct event_data) == sizeof(struct kfd_event_data), "event data");

/* State of one event in a wait. */
struct event_wait {
	bool active, by_age;
	bool queued; /* in the event's wait queue, because it was not set when the wait began */
};

struct event_waiter {
	LIST_ENTRY(event_waiter) link;
	struct call *call;
	uint64_t deadline_ns; /* UINT64_MAX: never */
	uint32_t n;
	bool all;
	struct event_wait *state;
	struct event_data data[];
};

static struct event *event_by_id(const struct process *process, uint32_t id)
{
	return id < process->cap_events && process->events[id].used ? &process->events[id] : NULL;
}

static void event_set(struct process *process, struct event *event);

static void waiter_free(struct event_waiter *waiter)
{
	free(waiter->state);
	free(waiter);
}

/* Sets those events again that were reset for a waiter whose wait a signal has interrupted, so that
 * the next waiter gets them. */
static void waiter_give_back(struct process *process, const struct event_waiter *waiter)
{
	if (!rule_holds(process->sim, RULE_interrupted_wait_gives_back))
		return;
	for (uint32_t i = 0; i < waiter->n; i++) {
		struct event *event = event_by_id(process, waiter->data[i].event_id);

		if (event && waiter->state[i].active && event->auto_reset)
			event_set(process, event);
	}
}

/* Writes to *@data what the driver returns about an event that was set: fault data, exception data
 * or the age. Returns its size in bytes. */
static size_t write_data(const struct process *process, const struct event *event,
			 const struct event_wait *state, struct event_data *data)
{
	if (event->type == KFD_IOC_EVENT_MEMORY) {
		data->memory = process->fault;
		return sizeof data->memory;
	}
	if (event->type == KFD_IOC_EVENT_HW_EXCEPTION) {
		memcpy(data, &process->hw_exception, sizeof process->hw_exception);
		return sizeof process->hw_exception;
	}
	if (event->type == KFD_IOC_EVENT_SIGNAL && state->by_age) {
		if (rule_holds(process->sim, RULE_wait_tells_a_newer_age))
			data->last_age = event->age;
		return sizeof data->last_age;
	}
	return 0;
}

static int write_results(struct process *process, struct event_waiter *waiter)
{
	const struct kfd_ioctl_wait_events_args *a = (void *)waiter->call->data;

	for (uint32_t i = 0; i < waiter->n; i++) {
		const struct event *event = event_by_id(process, waiter->data[i].event_id);
		struct event_data *data = &waiter->data[i];
		size_t n;

		if (!event || !waiter->state[i].active)
			continue;
		n = write_data(process, event, &waiter->state[i], data);
		if (n && call_write(waiter->call, a->events_ptr + i * sizeof *data, data, n))
			return -EFAULT;
	}
	return 0;
}

/* Ends the wait with @result (KFD_IOC_WAIT_RESULT_*) and frees the waiter. If the caller no longer
 * waits, sets the auto-reset events of the wait again, which may end other waits. */
static void waiter_finish(struct process *process, struct event_waiter *waiter, uint32_t result)
{
	struct call *call = waiter->call;
	struct kfd_ioctl_wait_events_args *a = (void *)call->data;
	int r = result == KFD_IOC_WAIT_RESULT_FAIL ? -EIO : 0;

	LIST_REMOVE(waiter, link);
	if (result == KFD_IOC_WAIT_RESULT_COMPLETE)
		r = write_results(process, waiter);
	a->wait_result = r ? KFD_IOC_WAIT_RESULT_FAIL : result;
	if (call_reply(call, r) == -ENOENT)
		waiter_give_back(process, waiter);
	waiter_free(waiter);
}

static bool waiter_done(const struct event_waiter *waiter)
{
	uint32_t active = 0;

	for (uint32_t i = 0; i < waiter->n; i++)
		active += waiter->state[i].active;
	if (!rule_holds(waiter->call->sim, RULE_wait_for_all_waits_for_all))
		return active > 0;
	return waiter->all || !waiter->n ? active == waiter->n : active > 0;
}

/* Marks event @id as set in this wait. Returns true if the waiter was in the event's wait queue. */
static bool waiter_hit(struct event_waiter *waiter, uint32_t id)
{
	bool queued = false;

	for (uint32_t i = 0; i < waiter->n; i++) {
		if (waiter->data[i].event_id != id || !waiter->state[i].queued)
			continue;
		queued = true;
		waiter->state[i].active = true;
	}
	return queued;
}

static void event_set(struct process *process, struct event *event)
{
	uint32_t id = (uint32_t)(event - process->events);
	bool auto_reset = event->auto_reset, someone = false;
	struct event_waiter *waiter;

	if (!rule_holds(process->sim, RULE_auto_reset_event_wakes_once))
		auto_reset = false;
	if (!++event->age)
		event->age = 2;
	LIST_FOREACH(waiter, &process->waiters, link)
	someone |= waiter_hit(waiter, id);
	event->signaled = !auto_reset || !someone;
	/* Restart from the first waiter each time, because the end of one wait may end others. */
	waiter = LIST_FIRST(&process->waiters);
	while (waiter) {
		if (waiter_done(waiter)) {
			waiter_finish(process, waiter, KFD_IOC_WAIT_RESULT_COMPLETE);
			waiter = LIST_FIRST(&process->waiters);
		} else {
			waiter = LIST_NEXT(waiter, link);
		}
	}
}

void event_fire(struct process *process, uint32_t id)
{
	struct event *event = event_by_id(process, id);

	if (event && !process->dead)
		event_set(process, event);
}

/* Returns the event slots, to which the GPU writes to signal an event; NULL: no page was set. */
static volatile uint64_t *slots(const struct process *process)
{
	return process->event_slots ? (void *)pages_at(process->event_slots, 0) : NULL;
}

static uint32_t slots_n(const struct process *process)
{
	uint64_t n = process->event_slots ? process->event_slots->bytes / 8 : SLOTS_UNMAPPED;

	return n < EVENT_PAGE_SLOTS ? (uint32_t)n : EVENT_PAGE_SLOTS;
}

/* Checks, as the driver does, whether the GPU has written to a slot; the value does not matter. All
 * ones (SLOT_EMPTY) means that it has not. */
void event_interrupt(struct process *process, uint32_t context_id)
{
	volatile uint64_t *slot = slots(process);
	uint32_t n = slots_n(process);

	if (process->dead)
		return;
	if (!slot) {
		event_fire(process, context_id);
		return;
	}
	if (context_id && context_id < n && slot[context_id] != SLOT_EMPTY) {
		slot[context_id] = SLOT_EMPTY;
		event_fire(process, context_id);
		return;
	}
	for (uint32_t id = 1; id < process->cap_events && id < n; id++) {
		if (!process->events[id].used || slot[id] == SLOT_EMPTY)
			continue;
		slot[id] = SLOT_EMPTY;
		event_fire(process, id);
	}
}

static void set_all(struct process *process, uint32_t type)
{
	for (uint32_t id = 0; id < process->cap_events; id++)
		if (process->events[id].used && process->events[id].type == type)
			event_set(process, &process->events[id]);
}

void event_memory_fault(struct process *process, uint32_t gpu_id, uint64_t va)
{
	memset(&process->fault, 0, sizeof process->fault);
	process->fault.failure.NotPresent = 1;
	/* The fault's interrupt reports only the page. */
	process->fault.va = rule_holds(process->sim, RULE_memory_event_tells_the_fault)
				    ? va & ~(uint64_t)(PAGE_BYTES - 1)
				    : 0;
	process->fault.gpu_id = gpu_id;
	set_all(process, KFD_IOC_EVENT_MEMORY);
}

void event_hw_exception(struct process *process, uint32_t gpu_id)
{
	process->hw_exception = (struct kfd_hsa_hw_exception_data){
		.reset_cause = KFD_HW_EXCEPTION_GPU_HANG,
		.memory_lost = 1,
		.gpu_id = gpu_id,
	};
	set_all(process, KFD_IOC_EVENT_HW_EXCEPTION);
}

/* Sets the page of event slots, to which the GPU writes signals. The runtime passes it as a buffer
 * handle with the first event. Returns 0, -EINVAL or -ENODEV. */
static int page_set(struct process *process, uint64_t handle)
{
	int node = node_index(process->sim, (uint32_t)(handle >> 32));
	const struct bo *page = bo_by_handle(process, handle);

	if (process->n_signal_events || process->event_slots)
		return rule_errno(process->sim, RULE_event_page_is_set_once, -EINVAL, 0);
	if (node >= 0 && !process->vm[node].file)
		return -ENODEV;
	if (!page || !page->pages)
		return -EINVAL;
	process->event_page = handle;
	process->event_slots = pages_ref(page->pages);
	memset(pages_at(page->pages, 0), 0xff,
	       page->pages->bytes < EVENT_PAGE_SLOTS * 8 ? page->pages->bytes
							 : EVENT_PAGE_SLOTS * 8);
	return 0;
}

int ioctl_create_event(struct call *call)
{
	struct kfd_ioctl_create_event_args *a = (void *)call->data;
	struct process *process = call->process;
	bool slot =
		a->event_type == KFD_IOC_EVENT_SIGNAL || a->event_type == KFD_IOC_EVENT_DEBUG_EVENT;
	uint32_t first = slot ? 1 : EVENT_PAGE_SLOTS;
	uint32_t last = slot ? slots_n(process) : EVENTS_MAX, id;

	if (a->event_page_offset) {
		int r = page_set(process, a->event_page_offset);

		if (r)
			return r;
		last = slot ? slots_n(process) : EVENTS_MAX;
	}
	a->event_page_offset = 0;
	if (slot && !rule_holds(call->sim, RULE_signal_events_end_with_the_page))
		last = EVENT_PAGE_SLOTS;
	for (id = first; id < last; id++)
		if (id >= process->cap_events || !process->events[id].used)
			break;
	if (!rule_holds(call->sim, RULE_event_ids_lowest_free_first) && slot)
		id = process->n_signal_events + 1;
	if (id >= last)
		return -ENOSPC;
	if (ARRAY_GROW(process->events, process->cap_events, id + 1))
		return -ENOMEM;
	process->events[id] = (struct event){
		.used = true, .type = a->event_type, .auto_reset = a->auto_reset, .age = 1};
	if (slot)
		process->n_signal_events++;
	if (slot && process->event_slots)
		slots(process)[id] = SLOT_EMPTY;
	process->record->open_only = false;
	a->event_id = id;
	a->event_trigger_data = id;
	if (slot) {
		a->event_slot_index = id;
		a->event_page_offset = EVENT_MMAP_OFFSET;
	}
	return 0;
}

static bool waits_for(const struct event_waiter *waiter, uint32_t id)
{
	for (uint32_t i = 0; i < waiter->n; i++)
		if (waiter->data[i].event_id == id)
			return true;
	return false;
}

int ioctl_destroy_event(struct call *call)
{
	struct kfd_ioctl_destroy_event_args *a = (void *)call->data;
	struct process *process = call->process;
	struct event *event = event_by_id(process, a->event_id);
	struct event_waiter *waiter;

	if (!event)
		return -EINVAL;
	event->used = false;
	waiter = LIST_FIRST(&process->waiters);
	while (waiter) {
		if (waits_for(waiter, a->event_id)) {
			waiter_finish(process, waiter,
				      rule_holds(call->sim, RULE_destroyed_event_fails_its_waiters)
					      ? KFD_IOC_WAIT_RESULT_FAIL
					      : KFD_IOC_WAIT_RESULT_TIMEOUT);
			waiter = LIST_FIRST(&process->waiters);
		} else {
			waiter = LIST_NEXT(waiter, link);
		}
	}
	return 0;
}

/* Returns the event if programs are allowed to set and reset it. Otherwise returns NULL, and
 * *@error is -EINVAL. */
static struct event *settable(const struct call *call, uint32_t id, int *error)
{
	struct event *event = event_by_id(call->process, id);

	*error = -EINVAL;
	if (!event && !rule_holds(call->sim, RULE_unknown_event_is_einval))
		*error = 0;
	if (event && event->type != KFD_IOC_EVENT_SIGNAL) {
		if (!rule_holds(call->sim, RULE_only_signal_events_can_be_set))
			*error = 0;
		return NULL;
	}
	return event;
}

int ioctl_set_event(struct call *call)
{
	struct kfd_ioctl_set_event_args *a = (void *)call->data;
	int error;
	struct event *event = settable(call, a->event_id, &error);

	if (!event)
		return error;
	event_set(call->process, event);
	if (call->sim->time)
		time_slots_effect(call->sim->time);
	return 0;
}

int ioctl_reset_event(struct call *call)
{
	struct kfd_ioctl_reset_event_args *a = (void *)call->data;
	int error;
	struct event *event = settable(call, a->event_id, &error);

	if (!event)
		return error;
	event->signaled = false;
	return 0;
}

/* Drops an earlier wait of this thread, which a signal has interrupted. If the thread repeats the
 * same call, sets its time-out to the time that was left then, because the driver writes the
 * remaining time into the arguments of an interrupted call. */
static void drop_stale(struct call *call)
{
	struct kfd_ioctl_wait_events_args *a = (void *)call->data;
	struct process *process = call->process;
	struct event_waiter *waiter = LIST_FIRST(&process->waiters);
	uint64_t now = clock_ns();

	while (waiter && waiter->call->tid != call->tid)
		waiter = LIST_NEXT(waiter, link);
	if (!waiter)
		return;
	LIST_REMOVE(waiter, link);
	if (waiter->call->user_arg == call->user_arg && waiter->deadline_ns != UINT64_MAX &&
	    ((struct kfd_ioctl_wait_events_args *)(void *)waiter->call->data)->timeout ==
		    a->timeout)
		a->timeout = waiter->deadline_ns > now
				     ? (uint32_t)((waiter->deadline_ns - now) / 1000000)
				     : 0;
	waiter_give_back(process, waiter);
	call_drop(waiter->call);
	waiter_free(waiter);
}

/* Fills in the state of each event of the wait, one after another as the driver does. If an event
 * is unknown, the wait fails, and auto-reset events that were reset before stay reset. Returns 0 or
 * a negative errno. */
static int waiter_check(struct process *process, struct event_waiter *waiter)
{
	for (uint32_t i = 0; i < waiter->n; i++) {
		struct event *event = event_by_id(process, waiter->data[i].event_id);
		struct event_wait *state = &waiter->state[i];

		if (!event)
			return rule_errno(process->sim, RULE_wait_on_an_unknown_event_is_einval,
					  -EINVAL, -ENOENT);
		state->active = event->signaled;
		event->signaled = event->signaled && !event->auto_reset;
		if (!rule_holds(process->sim, RULE_auto_reset_event_wakes_once))
			event->signaled = state->active;
		if (!rule_holds(process->sim, RULE_manual_reset_event_stays_set))
			event->signaled = false;
		if (event->type == KFD_IOC_EVENT_SIGNAL && waiter->data[i].last_age) {
			state->by_age = true;
			if (event->age != waiter->data[i].last_age &&
			    rule_holds(process->sim, RULE_wait_with_an_old_age_is_over))
				state->active = true;
		}
		state->queued = !state->active;
	}
	return 0;
}

/* Counts waits that are over at once because the age that the caller passed is not the event's
 * present age. A thread that repeats such waits uses a whole core, on hardware as well, so the
 * report contains the count. */
static void count_spin(struct process *process, const struct event_waiter *waiter)
{
	uint64_t second = clock_ns() / 1000000000;
	struct spin *spin = &process->spins[(unsigned)waiter->call->tid % SPINS];
	bool behind = false;

	for (uint32_t i = 0; i < waiter->n; i++)
		behind |= waiter->state[i].by_age && waiter->state[i].active;
	if (!behind)
		return;
	if (spin->tid != waiter->call->tid || spin->second != second)
		*spin = (struct spin){.tid = waiter->call->tid, .second = second};
	if (++spin->n == SPIN_MIN)
		process->record->spinning_waits += SPIN_MIN;
	else if (spin->n > SPIN_MIN)
		process->record->spinning_waits++;
}

static struct event_waiter *waiter_new(struct call *call)
{
	const struct kfd_ioctl_wait_events_args *a = (void *)call->data;
	struct event_waiter *waiter =
		calloc(1, sizeof *waiter + a->num_events * sizeof *waiter->data);

	if (!waiter)
		return NULL;
	waiter->state = calloc(a->num_events + 1, sizeof *waiter->state);
	if (!waiter->state) {
		free(waiter);
		return NULL;
	}
	waiter->call = call;
	waiter->n = a->num_events;
	waiter->all = a->wait_for_all;
	return waiter;
}

int ioctl_wait_events(struct call *call)
{
	struct kfd_ioctl_wait_events_args *a = (void *)call->data;
	struct process *process = call->process;
	struct event_waiter *waiter;
	int r = 0;

	drop_stale(call);
	a->wait_result = KFD_IOC_WAIT_RESULT_FAIL;
	if (a->num_events > WAIT_MAX)
		return -ENOMEM;
	waiter = waiter_new(call);
	if (!waiter)
		return -ENOMEM;
	if (call_read(call, a->events_ptr, waiter->data, waiter->n * sizeof *waiter->data))
		r = -EFAULT;
	if (!r)
		r = waiter_check(process, waiter);
	if (r) {
		waiter_free(waiter);
		return r;
	}
	call->begins_anew = true;
	LIST_INSERT_HEAD(&process->waiters, waiter, link);
	if (waiter_done(waiter)) {
		count_spin(process, waiter);
		waiter_finish(process, waiter, KFD_IOC_WAIT_RESULT_COMPLETE);
		return CALL_PENDING;
	}
	if (!a->timeout && rule_holds(call->sim, RULE_wait_without_time_only_asks)) {
		waiter_finish(process, waiter, KFD_IOC_WAIT_RESULT_TIMEOUT);
		return CALL_PENDING;
	}
	waiter->deadline_ns = a->timeout == TIMEOUT_NEVER
				      ? UINT64_MAX
				      : clock_ns() + (a->timeout ? a->timeout : 500u) * 1000000ull;
	if (waiter->deadline_ns < call->sim->next_deadline_ns)
		call->sim->next_deadline_ns = waiter->deadline_ns;
	return CALL_PENDING;
}

/* Returns the first waiter of the process that is due. If there is none, updates
 * sim->next_deadline_ns and returns NULL. */
static struct event_waiter *due(struct sim *sim, struct process *process, uint64_t now_ns)
{
	struct event_waiter *waiter;

	LIST_FOREACH(waiter, &process->waiters, link)
	{
		if (waiter->deadline_ns <= now_ns)
			return waiter;
		if (waiter->deadline_ns < sim->next_deadline_ns)
			sim->next_deadline_ns = waiter->deadline_ns;
	}
	return NULL;
}

void events_expire(struct sim *sim, uint64_t now_ns)
{
	struct process *process;
	struct event_waiter *waiter;

	sim->next_deadline_ns = UINT64_MAX;
	TAILQ_FOREACH(process, &sim->processes, link)
	while ((waiter = due(sim, process, now_ns)))
		waiter_finish(process, waiter, KFD_IOC_WAIT_RESULT_TIMEOUT);
}

void events_release(struct process *process)
{
	struct event_waiter *waiter;

	while ((waiter = LIST_FIRST(&process->waiters))) {
		LIST_REMOVE(waiter, link);
		call_drop(waiter->call);
		waiter_free(waiter);
	}
	free(process->events);
	process->events = NULL;
	process->cap_events = 0;
	pages_unref(process->event_slots);
	process->event_slots = NULL;
}
