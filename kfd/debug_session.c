// SPDX-License-Identifier: MIT
#include "kfd/debug_session.h"

#include <errno.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"

#define GRACE_SHORTEST 1u /* shortest grace period; 0 means the default on some kernels */
#define SUSPEND_TRIES 10  /* number of SUSPEND_QUEUES calls before a skipped queue is given up */
#define HASTY_TRIES 4	  /* so many of these calls are made without a pause before the next */
#define PAUSE_NS 100000	  /* 100 us between the later tries */

/* A new snapshot builds a new list of queues. For each queue these flags, in a word of ids[], keep
 * what the old list says about it: it was suspended, or selected for suspends. */
#define WAS_SUSPENDED 1u
#define WAS_SELECTED 2u

/* ---- calls ---- */

int kfd_debug_call(const struct kfd_debug_session *session, struct kfdabi_dbg_trap *args)
{
	int r;

	args->pid = (uint32_t)(session->target ? session->target : gettid());
	do {
		r = session->ioctl(session->context, KFDABI_IOC_DBG_TRAP, args);
	} while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static void set(bool *field, bool value)
{
	__atomic_store_n(field, value, __ATOMIC_RELEASE);
}

/* Records that the driver has resumed all queues by itself. */
static void all_run(struct kfd_debug_session *session)
{
	for (uint32_t i = 0; i < session->n_queues; i++)
		session->queues[i].suspended = false;
	set(&session->holding, false);
}

void kfd_debug_forget(struct kfd_debug_session *session)
{
	all_run(session);
	session->restricted = false;
	set(&session->enabled, false);
}

static int call_snapshot(struct kfd_debug_session *session, struct kfdabi_dbg_trap *args)
{
	int r = kfd_debug_call(session, args);

	if (r == -EINVAL && session->enabled)
		kfd_debug_forget(session); /* another process has ended the session */
	return r;
}

int kfd_debug_probe(struct kfd_debug_session *session)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_GET_QUEUE_SNAPSHOT};

	args.u.queue_snapshot.entry_size = sizeof(struct kfdabi_queue_snapshot);
	return call_snapshot(session, &args);
}

int kfd_debug_enable(struct kfd_debug_session *session, uint64_t exceptions, int event_fd,
		     uint32_t *runtime_state)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_ENABLE};
	struct kfdabi_runtime_info info = {0};
	int r;

	args.u.enable.exception_mask = exceptions;
	args.u.enable.rinfo_ptr = (uintptr_t)&info;
	args.u.enable.rinfo_size = sizeof(info);
	args.u.enable.dbg_fd = (uint32_t)event_fd;
	r = kfd_debug_call(session, &args);
	if (r < 0)
		return r;
	set(&session->enabled, true);
	*runtime_state = info.runtime_state;
	return 0;
}

void kfd_debug_disable(struct kfd_debug_session *session)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_DISABLE};

	if (!session->enabled)
		return;
	kfd_debug_call(session, &args);
	kfd_debug_forget(session);
}

/* ---- list of queues ---- */

static struct kfd_debug_queue *queue_by_id(struct kfd_debug_session *session, uint32_t id)
{
	for (uint32_t i = 0; i < session->n_queues; i++)
		if (session->queues[i].id == id)
			return &session->queues[i];
	return NULL;
}

static bool is_new(const struct kfdabi_queue_snapshot *seen)
{
	return seen->exception_status & kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
}

static bool is_compute(const struct kfdabi_queue_snapshot *seen)
{
	return seen->queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE ||
	       seen->queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

/* Returns what the old list says about a queue of the snapshot (WAS_*). Returns 0 for a new queue.
 * Its id may be in the old list, because the driver reuses the id of a destroyed queue at once. */
static uint32_t known_of(struct kfd_debug_session *session,
			 const struct kfdabi_queue_snapshot *seen)
{
	const struct kfd_debug_queue *old = queue_by_id(session, seen->queue_id);

	if (!old || is_new(seen))
		return 0;
	return (old->suspended ? WAS_SUSPENDED : 0) | (old->selected ? WAS_SELECTED : 0);
}

/* Replaces the list by the first `count` entries of the snapshot. known_of() needs the old list for
 * all of these entries, so its results are first stored in ids[]; the caller's stack may be too
 * small for a second list. */
static void replace_list(struct kfd_debug_session *session, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		session->ids[i] = known_of(session, &session->snapshot[i]);
	for (uint32_t i = 0; i < count; i++) {
		const struct kfdabi_queue_snapshot *seen = &session->snapshot[i];

		session->n_new += is_new(seen);
		if (!is_compute(seen))
			continue;
		session->queues[n++] = (struct kfd_debug_queue){
			.id = seen->queue_id,
			.gpu_id = seen->gpu_id,
			.exceptions = (uint32_t)(seen->exception_status & KFDABI_EC_QUEUE_MASK),
			.suspended = session->ids[i] & WAS_SUSPENDED,
			.selected = session->ids[i] & WAS_SELECTED,
		};
	}
	session->n_queues = n;
}

int kfd_debug_refresh(struct kfd_debug_session *session)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_GET_QUEUE_SNAPSHOT};
	uint32_t got;
	int r;

	args.u.queue_snapshot.exception_mask = kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
	args.u.queue_snapshot.snapshot_buf_ptr = (uintptr_t)session->snapshot;
	args.u.queue_snapshot.num_queues = KFDABI_QUEUE_ARRAY_MAX;
	args.u.queue_snapshot.entry_size = sizeof(struct kfdabi_queue_snapshot);
	r = call_snapshot(session, &args);
	if (r < 0)
		return r;
	got = args.u.queue_snapshot.num_queues;
	replace_list(session, got < KFDABI_QUEUE_ARRAY_MAX ? got : KFDABI_QUEUE_ARRAY_MAX);
	return 0;
}

int kfd_debug_select(struct kfd_debug_session *session, const uint32_t *ids, uint32_t count,
		     uint32_t *missing)
{
	int error = kfd_debug_refresh(session);

	if (error)
		return error;
	for (uint32_t i = 0; i < count; i++)
		if (!queue_by_id(session, ids[i])) {
			*missing = ids[i];
			return -ENOENT;
		}
	for (uint32_t i = 0; i < session->n_queues; i++)
		session->queues[i].selected = false;
	for (uint32_t i = 0; i < count; i++)
		queue_by_id(session, ids[i])->selected = true;
	session->restricted = true;
	return 0;
}

/* Returns true if the queue still has to be suspended. */
static bool is_due(const struct kfd_debug_session *session, const struct kfd_debug_queue *q)
{
	return !q->suspended && (q->selected || !session->restricted);
}

/* Fills ids[] with the queues that are suspended, if `suspended`, otherwise with those that still
 * have to be suspended. Returns their number. */
static uint32_t collect(struct kfd_debug_session *session, bool suspended)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < session->n_queues; i++) {
		const struct kfd_debug_queue *q = &session->queues[i];

		if (suspended ? q->suspended : is_due(session, q))
			session->ids[n++] = q->id;
	}
	return n;
}

uint32_t kfd_debug_suspended(const struct kfd_debug_session *session, uint32_t *ids, uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < session->n_queues; i++) {
		if (!session->queues[i].suspended)
			continue;
		if (n < room)
			ids[n] = session->queues[i].id;
		n++;
	}
	return n;
}

/* ---- cost ---- */

static void enter(struct kfd_debug_cost *cost)
{
	if (cost && cost->entry_ns == 0)
		cost->entry_ns = clock_ns();
}

static void leave(struct kfd_debug_cost *cost)
{
	if (cost && cost->entry_ns)
		cost->duration_ns = clock_ns() - cost->entry_ns;
}

static uint64_t wait_for_mutex(struct kfd_debug_session *session)
{
	uint64_t began = clock_ns();

	kfd_debug_probe(session);
	return clock_ns() - began;
}

static uint32_t count_gpus(const struct kfd_debug_session *session)
{
	const struct kfd_debug_queue *queues = session->queues;
	uint32_t gpus = 0, k;

	for (uint32_t i = 0; i < session->n_queues; i++) {
		for (k = 0; k < i; k++)
			if (is_due(session, &queues[k]) && queues[k].gpu_id == queues[i].gpu_id)
				break;
		gpus += is_due(session, &queues[i]) && k == i;
	}
	return gpus;
}

/* ---- suspend and resume ---- */

/* Makes one SUSPEND_QUEUES call for all queues that are not suspended yet.
 * Returns 0, -EAGAIN if the driver skipped some, or another negative errno. */
static int suspend_rest(struct kfd_debug_session *session, struct kfd_debug_cost *cost)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_SUSPEND_QUEUES};
	uint32_t n = collect(session, false);
	uint32_t next = 0;
	int result = 0;
	int r;

	if (n == 0)
		return 0;
	args.u.suspend.queue_array_ptr = (uintptr_t)session->ids;
	args.u.suspend.num_queues = n;
	args.u.suspend.grace_period = GRACE_SHORTEST;
	enter(cost);
	r = kfd_debug_call(session, &args);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < session->n_queues; i++) {
		struct kfd_debug_queue *q = &session->queues[i];
		uint32_t flags;

		if (!is_due(session, q))
			continue;
		flags = session->ids[next++];
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

static int suspend_all(struct kfd_debug_session *session, struct kfd_debug_cost *cost)
{
	int error;

	if (!session->enabled)
		return -EINVAL;
	set(&session->holding, true);
	for (int i = 0; i < SUSPEND_TRIES; i++) {
		error = suspend_rest(session, cost);
		if (error == -EINVAL)
			kfd_debug_probe(session);
		if (error != -EAGAIN)
			return error;
		if (i >= HASTY_TRIES)
			sleep_ns(PAUSE_NS);
		error = kfd_debug_refresh(session);
		if (error)
			return error;
	}
	return -EBUSY;
}

int kfd_debug_suspend(struct kfd_debug_session *session, struct kfd_debug_cost *cost)
{
	int error;

	if (!cost)
		return suspend_all(session, NULL);
	*cost = (struct kfd_debug_cost){0};
	if (session->measure)
		cost->waited_ns = wait_for_mutex(session);
	cost->gpus = count_gpus(session);
	error = suspend_all(session, cost);
	leave(cost);
	session->measure =
		cost->duration_ns > KFD_DEBUG_QUICK_NS || cost->waited_ns >= KFD_DEBUG_FREE_NS;
	return error;
}

/* Handles the `error` that a RESUME_QUEUES call has returned. Returns 0 if the driver has resumed
 * the queues itself, otherwise the error. */
static int resume_refused(struct kfd_debug_session *session, int error)
{
	int probe = kfd_debug_probe(session);
	/* If the target's runtime is off, the driver refuses RESUME_QUEUES, but not a snapshot. */
	bool off = error == -EPERM && probe >= 0;
	/* If the target is the calling process, it cannot have ended, so the error has another
	 * cause. */
	bool ended = session->target && (error == -ESRCH || probe == -ESRCH);

	if (probe != -EINVAL && !off && !ended)
		return error;
	all_run(session);
	return 0;
}

static int resume_rest(struct kfd_debug_session *session, struct kfd_debug_cost *cost)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_RESUME_QUEUES};
	uint32_t n = collect(session, true);
	uint32_t next = 0;
	int result = 0;
	int r;

	if (n == 0)
		return 0;
	args.u.resume.queue_array_ptr = (uintptr_t)session->ids;
	args.u.resume.num_queues = n;
	enter(cost);
	r = kfd_debug_call(session, &args);
	if (r < 0)
		return resume_refused(session, r);
	for (uint32_t i = 0; i < session->n_queues; i++) {
		struct kfd_debug_queue *q = &session->queues[i];

		if (!q->suspended)
			continue;
		/* Only ERROR is a failure. INVALID means that the queue no longer exists. */
		q->suspended = session->ids[next++] & KFDABI_QUEUE_ERROR;
		if (q->suspended)
			result = -EIO;
	}
	return result;
}

int kfd_debug_resume(struct kfd_debug_session *session, struct kfd_debug_cost *cost)
{
	int error;

	if (cost)
		*cost = (struct kfd_debug_cost){0};
	error = resume_rest(session, cost);
	leave(cost);
	if (!error)
		set(&session->holding, false);
	return error;
}

int kfd_debug_settle(struct kfd_debug_session *session, struct kfd_debug_cost *cost)
{
	int error = kfd_debug_refresh(session), undo;

	if (cost)
		*cost = (struct kfd_debug_cost){0};
	if (error || session->n_queues == 0)
		return error;
	/* Measure the wait for the target's mutex, because nothing is known yet about other driver
	 * calls of the target, which may hold it. */
	kfd_debug_measure(session);
	error = kfd_debug_suspend(session, cost);
	undo = kfd_debug_resume(session, NULL);
	return error ? error : undo;
}
