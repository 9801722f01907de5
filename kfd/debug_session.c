// SPDX-License-Identifier: MIT
#include "kfd/debug_session.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include "common/wait.h"
#include "scheduler/kfd/exception.h"
#include "scheduler/kfd/trap.h"

#define GRACE_SHORTEST 1u /* shortest grace period; 0 means the default on some kernels */
#define SUSPEND_TRIES 10  /* SUSPEND_QUEUES calls until a skipped queue is given up */
#define HASTY_TRIES 4	  /* the first of these tries, made without a pause */
#define PAUSE_NS 100000	  /* 100 us between the later tries */

int trap_call(struct trap *trap, struct kfdabi_dbg_trap *args)
{
	int r;

	args->pid = (uint32_t)trap->pid;
	do {
		r = ioctl(trap->kfd_fd, KFDABI_IOC_DBG_TRAP, args);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

int trap_probe(struct trap *trap)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_GET_QUEUE_SNAPSHOT};

	args.u.queue_snapshot.entry_size = sizeof(struct kfdabi_queue_snapshot);
	return trap_call(trap, &args);
}

static const struct trap_queue *queue_by_id(const struct trap_queue *queues, uint32_t count,
					    uint32_t id)
{
	for (uint32_t i = 0; i < count; i++)
		if (queues[i].id == id)
			return &queues[i];
	return NULL;
}

static bool is_compute(uint32_t type)
{
	return type == KFD_IOC_QUEUE_TYPE_COMPUTE || type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

int trap_learn_queues(struct trap *trap)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_GET_QUEUE_SNAPSHOT};
	struct trap_queue fresh[KFDABI_QUEUE_ARRAY_MAX];
	const uint64_t new_bit = kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
	uint32_t count = 0;
	uint32_t got;
	int r;

	args.u.queue_snapshot.exception_mask = new_bit;
	args.u.queue_snapshot.snapshot_buf_ptr = (uintptr_t)trap->snapshot;
	args.u.queue_snapshot.num_queues = KFDABI_QUEUE_ARRAY_MAX;
	args.u.queue_snapshot.entry_size = sizeof(struct kfdabi_queue_snapshot);
	r = trap_call(trap, &args);
	if (r < 0)
		return r;
	got = args.u.queue_snapshot.num_queues;
	if (got > KFDABI_QUEUE_ARRAY_MAX)
		got = KFDABI_QUEUE_ARRAY_MAX;
	for (uint32_t i = 0; i < got; i++) {
		const struct kfdabi_queue_snapshot *s = &trap->snapshot[i];
		const struct trap_queue *old;

		if (s->exception_status & new_bit)
			trap->new_queues++;
		if (!is_compute(s->queue_type))
			continue;
		old = queue_by_id(trap->queues, trap->queue_count, s->queue_id);
		fresh[count].id = s->queue_id;
		fresh[count].gpu_id = s->gpu_id;
		/* The driver reuses ids at once: a new queue is not the known queue of that id. */
		if (s->exception_status & new_bit)
			old = NULL;
		fresh[count].suspended = old && old->suspended;
		fresh[count].spared = trap->chosen && (!old || old->spared);
		fresh[count].exceptions = (uint32_t)(s->exception_status & EXCEPTION_FAULTS);
		count++;
	}
	memcpy(trap->queues, fresh, count * sizeof(*fresh));
	trap->queue_count = count;
	return 0;
}

static void enter(struct trap_cost *cost)
{
	if (cost->entry_ns == 0)
		cost->entry_ns = clock_ns();
}

/* true: the queue still has to be suspended. */
static bool is_due(const struct trap_queue *q)
{
	return !q->suspended && !q->spared;
}

static bool is_suspended(const struct trap_queue *q)
{
	return q->suspended;
}

static uint32_t gather(struct trap *trap, bool (*fits)(const struct trap_queue *q))
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < trap->queue_count; i++)
		if (fits(&trap->queues[i]))
			trap->call[n++] = trap->queues[i].id;
	return n;
}

/* One SUSPEND_QUEUES call for all queues that are not suspended yet.
 * Returns 0, -EAGAIN if the driver skipped some, or another negative errno. */
static int suspend_rest(struct trap *trap, struct trap_cost *cost)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_SUSPEND_QUEUES};
	uint32_t n = gather(trap, is_due);
	uint32_t next = 0;
	int result = 0;
	int r;

	if (n == 0)
		return 0;
	args.u.suspend.queue_array_ptr = (uintptr_t)trap->call;
	args.u.suspend.num_queues = n;
	args.u.suspend.grace_period = GRACE_SHORTEST;
	enter(cost);
	r = trap_call(trap, &args);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < trap->queue_count; i++) {
		struct trap_queue *q = &trap->queues[i];
		uint32_t flags;

		if (!is_due(q))
			continue;
		flags = trap->call[next++];
		if (flags & KFDABI_QUEUE_ERROR)
			result = -EIO;
		else if (flags & KFDABI_QUEUE_INVALID && result == 0)
			result = -EAGAIN;
		/* After a firmware failure (ERROR) the driver keeps the queue flagged as suspended,
		 * so it needs a resume, too. */
		q->suspended = flags & KFDABI_QUEUE_ERROR || !(flags & KFDABI_QUEUE_INVALID);
	}
	return result;
}

static int suspend_all(struct trap *trap, struct trap_cost *cost)
{
	int error = 0;

	for (int i = 0; i < SUSPEND_TRIES; i++) {
		error = suspend_rest(trap, cost);
		if (error != -EAGAIN)
			return error;
		if (i >= HASTY_TRIES)
			sleep_ns(PAUSE_NS);
		error = trap_learn_queues(trap);
		if (error)
			return error;
	}
	return -EBUSY;
}

static uint64_t wait_for_mutex(struct trap *trap)
{
	uint64_t began = clock_ns();

	trap_probe(trap);
	return clock_ns() - began;
}

static uint32_t count_gpus(const struct trap *trap)
{
	uint32_t gpus = 0, k;

	for (uint32_t i = 0; i < trap->queue_count; i++) {
		const struct trap_queue *q = &trap->queues[i];

		for (k = 0; k < i; k++)
			if (is_due(&trap->queues[k]) && trap->queues[k].gpu_id == q->gpu_id)
				break;
		gpus += is_due(q) && k == i;
	}
	return gpus;
}

void trap_measure(struct trap *trap)
{
	trap->measure = true;
}

int trap_suspend(struct trap *trap, struct trap_cost *cost)
{
	int error;

	*cost = (struct trap_cost){0};
	trap->held = true;
	if (trap->measure)
		cost->waited_ns = wait_for_mutex(trap);
	cost->gpus = count_gpus(trap);
	error = suspend_all(trap, cost);
	if (cost->entry_ns)
		cost->duration_ns = clock_ns() - cost->entry_ns;
	trap->measure = cost->duration_ns > TRAP_QUICK_NS || cost->waited_ns >= TRAP_FREE_NS;
	return error;
}

int trap_choose(struct trap *trap, const uint32_t *ids, uint32_t count, uint32_t *missing)
{
	int error = trap_learn_queues(trap);

	if (error)
		return error;
	for (uint32_t i = 0; i < count; i++)
		if (!queue_by_id(trap->queues, trap->queue_count, ids[i])) {
			*missing = ids[i];
			return -ENOENT;
		}
	trap->chosen = true;
	for (uint32_t i = 0; i < trap->queue_count; i++) {
		trap->queues[i].spared = true;
		for (uint32_t k = 0; k < count; k++)
			if (ids[k] == trap->queues[i].id)
				trap->queues[i].spared = false;
	}
	return 0;
}

uint32_t trap_suspended(const struct trap *trap, uint32_t *ids, uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < trap->queue_count; i++) {
		if (!is_suspended(&trap->queues[i]))
			continue;
		if (n < room)
			ids[n] = trap->queues[i].id;
		n++;
	}
	return n;
}

uint32_t trap_exceptions(const struct trap *trap, uint64_t *out, uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < trap->queue_count && n < room; i++)
		if (trap->queues[i].exceptions)
			out[n++] = (uint64_t)trap->queues[i].id << 32 | trap->queues[i].exceptions;
	return n;
}

bool trap_is_gone(struct trap *trap, int error)
{
	return error == -ESRCH || (error == -EINVAL && trap_probe(trap) == -EINVAL);
}

void trap_forget_suspended(struct trap *trap)
{
	trap->held = false;
	for (uint32_t i = 0; i < trap->queue_count; i++)
		trap->queues[i].suspended = false;
}

/* RESUME_QUEUES failed as a whole. Returns 0 if the driver has resumed the queues itself, else the
 * error. */
static int resume_refused(struct trap *trap, int error)
{
	int session = trap_probe(trap);

	if (error == -ESRCH || session == -EINVAL || session == -ESRCH ||
	    (error == -EPERM && session == 0)) {
		/* The process is gone, the session is gone, or the runtime was turned off (then the
		 * driver returns EPERM). In each case the driver has resumed the queues. */
		trap_forget_suspended(trap);
		return 0;
	}
	return error;
}

static int resume_rest(struct trap *trap, struct trap_cost *cost)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_RESUME_QUEUES};
	uint32_t n = gather(trap, is_suspended);
	uint32_t next = 0;
	int result = 0;
	int r;

	if (n == 0)
		return 0;
	args.u.resume.queue_array_ptr = (uintptr_t)trap->call;
	args.u.resume.num_queues = n;
	enter(cost);
	r = trap_call(trap, &args);
	if (r < 0)
		return resume_refused(trap, r);
	for (uint32_t i = 0; i < trap->queue_count; i++) {
		struct trap_queue *q = &trap->queues[i];

		if (!q->suspended)
			continue;
		/* Only ERROR is a failure. INVALID means that the queue no longer exists. */
		q->suspended = trap->call[next++] & KFDABI_QUEUE_ERROR;
		if (q->suspended)
			result = -EIO;
	}
	return result;
}

int trap_resume(struct trap *trap, struct trap_cost *cost)
{
	int error;

	*cost = (struct trap_cost){0};
	error = resume_rest(trap, cost);
	if (cost->entry_ns)
		cost->duration_ns = clock_ns() - cost->entry_ns;
	if (!error)
		trap->held = false;
	return error;
}

int trap_collect(struct trap *trap)
{
	struct trap_cost cost = {0};
	int error;

	/* Ignore a failed snapshot: it means that the process or the session is ending, which the
	 * pidfd or trap_events_fd() reports. */
	if (trap_learn_queues(trap) != 0 || !trap->held)
		return 0;
	error = suspend_all(trap, &cost);
	return error == -ESRCH || error == -EINVAL ? 0 : error;
}
