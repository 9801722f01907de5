// SPDX-License-Identifier: MIT
/*
 * DBG_TRAP: who may, in which state, and what it does, by the rules of Linux
 * 6.12.95 (kfd-facts 1). In that release the calling thread must itself be the
 * tracer of the target's lead thread, except for DISABLE, which needs no
 * permission at all.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/kfd/kfd.h"

#define NEW_MASK kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW)
#define RUNTIME_MASK kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME)
#define MEMORY_MASK kfdabi_ec_mask(33) /* EC_DEVICE_MEMORY_VIOLATION */
#define NOT_FOUND UINT32_MAX

/* One '.' for an event the debugger wants. The driver blocks on a full pipe;
 * this process serves everybody, so it does not. */
static void tell_debugger(const struct process *process)
{
	struct pollfd p = {.fd = process->event_fd, .events = POLLOUT};

	if (process->event_fd >= 0 && poll(&p, 1, 0) == 1 && p.revents == POLLOUT)
		if (write(process->event_fd, ".", 1) != 1)
			return; /* not a pipe: the driver only warns, too */
}

void debug_raise(struct process *process, struct queue *queue, uint64_t mask)
{
	if (!process->session)
		return;
	if (queue)
		queue->exceptions |= mask;
	else
		process->exceptions |= mask;
	if (mask & process->exceptions_enabled)
		tell_debugger(process);
}

static void set_debugger(struct process *target, struct process *debugger)
{
	if (debugger)
		process_ref(debugger);
	if (target->debugger)
		process_unref(target->debugger);
	target->debugger = debugger;
}

static void resume_queue(struct queue *queue)
{
	if (queue->suspended)
		queue->record->resumes++;
	queue->suspended = false;
}

/* Nodes on which the process has a queue, or where a refresh costs something. */
static uint32_t nodes_concerned(const struct process *process)
{
	uint32_t nodes = nodes_active(process->world);
	const struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	nodes |= 1u << queue->node;
	return nodes;
}

/* What is left of a session once its queues are resumed. */
static void session_clear(struct process *target)
{
	struct queue *queue;

	if (target->event_fd >= 0)
		close(target->event_fd);
	target->event_fd = -1;
	if (target->debugger)
		target->debugger->debugged--;
	set_debugger(target, NULL);
	target->session = false;
	target->exceptions = target->exceptions_enabled = 0;
	TAILQ_FOREACH(queue, &target->queues, link)
	queue->exceptions = 0;
}

static void resumed(struct bounce *bounce)
{
	queues_wake_destroyers(bounce->process);
}

/* `call`: DISABLE; NULL: the debugger died. */
static int session_end(struct process *target, struct call *call)
{
	struct bounce *bounce = bounce_new(target, call, resumed);
	struct queue *queue;

	if (!bounce)
		return -ENOMEM;
	if (target->runtime_state == KFDABI_RUNTIME_ENABLED) {
		TAILQ_FOREACH(queue, &target->queues, link)
		resume_queue(queue);
		bounce->nodes = nodes_concerned(target);
	} else if (target->runtime_state != KFDABI_RUNTIME_DISABLED) {
		target->runtime_state = KFDABI_RUNTIME_ENABLED;
	}
	session_clear(target);
	bounce_begin(bounce);
	return CALL_PENDING;
}

void debug_session_end(struct process *target)
{
	if (target->locked)
		target->disable_later = true;
	else if (target->session && session_end(target, NULL) != CALL_PENDING)
		say("no memory to resume pid %d after its debugger died", target->pid);
}

void debug_process_died(struct process *process)
{
	struct process *target, *next;

	if (process->session)
		session_clear(process);
	set_debugger(process, NULL);
	if (process->runtime_sleeper)
		call_drop(process->runtime_sleeper);
	process->runtime_sleeper = NULL;
	if (process->debugged <= 0)
		return;
	for (target = TAILQ_FIRST(&process->world->processes); target; target = next) {
		next = TAILQ_NEXT(target, link);
		if (target->debugger == process)
			debug_session_end(target);
	}
}

static void enabled(struct bounce *bounce)
{
	struct kfdabi_dbg_trap *a = (void *)bounce->call->data;
	struct process *target = bounce->process;
	struct kfdabi_runtime_info info = {
		.r_debug = target->r_debug,
		.runtime_state = target->runtime_state,
		.ttmp_setup = target->ttmp_setup,
	};
	uint32_t room = a->u.enable.rinfo_size;

	target->session = true;
	if (target->debugger) {
		target->debugger->debugged++;
		if (target->debugger->dead)
			target->disable_later = true;
	}
	if (call_write(bounce->call, a->u.enable.rinfo_ptr, &info,
		       room < sizeof info ? room : sizeof info))
		bounce->result = -EFAULT; /* and the session stays on */
	else
		target->exceptions_enabled = a->u.enable.exception_mask;
	a->u.enable.rinfo_size = sizeof info;
}

static int trap_enable(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	struct bounce *bounce;
	int fd;

	/* The driver stores it before it tries, and never takes it back. */
	if (target != call->process)
		set_debugger(target, call->process);
	if (target->session)
		return -EALREADY;
	fd = (int)syscall(SYS_pidfd_getfd, call->process->pidfd, a->u.enable.dbg_fd, 0);
	if (fd < 0)
		return -EBADF;
	bounce = bounce_new(target, call, enabled);
	if (!bounce) {
		close(fd);
		return -ENOMEM;
	}
	target->event_fd = fd;
	if (target->runtime_state == KFDABI_RUNTIME_ENABLED)
		bounce->nodes = nodes_active(call->world);
	bounce_begin(bounce);
	return CALL_PENDING;
}

/* The first entry that names the queue; bit 31 does not hinder a match, bit 30 does. */
static uint32_t find_id(const uint32_t *ids, uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++)
		if ((ids[i] & ~KFDABI_QUEUE_INVALID) == id)
			return i;
	return NOT_FOUND;
}

/* After the bounce: what the caller asked to be cleared goes, in new queues too,
 * which a second call can then take. */
static void array_done(struct bounce *bounce)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &bounce->process->queues, link)
	if (bounce->ids && bounce->nodes >> queue->node & 1 &&
	    find_id(bounce->ids, bounce->n_ids, queue->id) != NOT_FOUND)
		queue->exceptions &= ~bounce->clear_mask;
	if (bounce->ids) /* a failed copy is only logged by the driver */
		(void)call_write(bounce->call, bounce->ids_address, bounce->ids,
				 bounce->n_ids * sizeof *bounce->ids);
	if (bounce->resume)
		queues_wake_destroyers(bounce->process);
}

static int read_ids(struct call *call, struct bounce *bounce, uint64_t address, uint32_t n)
{
	if (n > KFDABI_QUEUE_ARRAY_MAX)
		return -EINVAL;
	bounce->ids = calloc(n + 1, sizeof *bounce->ids);
	if (!bounce->ids)
		return -ENOMEM;
	bounce->n_ids = n;
	bounce->ids_address = address;
	if (call_read(call, address, bounce->ids, n * sizeof *bounce->ids))
		return -EFAULT;
	for (uint32_t i = 0; i < n; i++)
		bounce->ids[i] |= KFDABI_QUEUE_INVALID;
	return 0;
}

static bool suspend_one(struct queue *queue)
{
	if (queue->suspended)
		return true;
	if (queue->exceptions & NEW_MASK || queue->being_destroyed)
		return false;
	queue->suspended = true;
	queue->record->suspends++;
	return true;
}

/* SUSPEND and RESUME of an array; for RESUME an address of 0 means all. */
static int trap_array(struct call *call, struct process *target, uint64_t address, uint32_t n,
		      uint64_t clear_mask, bool resume)
{
	struct bounce *bounce = bounce_new(target, call, array_done);
	struct queue *queue;
	int r = 0;

	if (!bounce)
		return -ENOMEM;
	bounce->resume = resume;
	bounce->clear_mask = clear_mask;
	if (address)
		r = read_ids(call, bounce, address, n);
	else if (!resume && n)
		r = -EINVAL;
	if (r) {
		free(bounce->ids);
		free(bounce);
		return r;
	}
	TAILQ_FOREACH(queue, &target->queues, link)
	{
		uint32_t at = find_id(bounce->ids, bounce->n_ids, queue->id);

		if (bounce->ids ? at == NOT_FOUND : !resume)
			continue;
		if (resume)
			resume_queue(queue);
		else if (!suspend_one(queue))
			continue;
		if (bounce->ids)
			bounce->ids[at] &= ~KFDABI_QUEUE_INVALID;
		bounce->nodes |= 1u << queue->node;
		bounce->result++;
	}
	bounce_begin(bounce);
	return CALL_PENDING;
}

static int trap_snapshot(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t room = a->u.queue_snapshot.num_queues, stride = a->u.queue_snapshot.entry_size;
	struct kfdabi_queue_snapshot entry = {0};
	uint32_t bytes = stride < sizeof entry ? stride : sizeof entry;
	struct queue *queue;

	a->u.queue_snapshot.num_queues = 0;
	if (!stride)
		return -EINVAL;
	a->u.queue_snapshot.entry_size = bytes;
	TAILQ_FOREACH(queue, &target->queues, link)
	{
		uint32_t i = a->u.queue_snapshot.num_queues;

		if (i < room) {
			entry.exception_status = queue->exceptions;
			entry.ring_base_address = queue->ring;
			entry.write_pointer_address = queue->wptr_address;
			entry.read_pointer_address = queue->rptr_address;
			entry.ctx_save_restore_address = queue->save_address;
			entry.queue_id = queue->id;
			entry.gpu_id = queue->record->gpu_id;
			entry.ring_size = (uint32_t)queue->ring_bytes;
			entry.queue_type = queue->type;
			entry.ctx_save_restore_area_size = queue->save_bytes;
			queue->exceptions &= ~a->u.queue_snapshot.exception_mask;
			if (call_write(call,
				       a->u.queue_snapshot.snapshot_buf_ptr + (uint64_t)i * stride,
				       &entry, bytes))
				return -EFAULT;
		}
		a->u.queue_snapshot.num_queues++;
	}
	return 0;
}

static int trap_send_event(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	uint64_t mask = a->u.send_runtime_event.exception_mask;

	if (mask & RUNTIME_MASK)
		runtime_post(target);
	else if (mask & MEMORY_MASK && node_index(call->world, a->u.send_runtime_event.gpu_id) < 0)
		return -ENODEV;
	return 0;
}

static int trap_set_exceptions(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	uint64_t pending = target->exceptions;
	const struct queue *queue;

	TAILQ_FOREACH(queue, &target->queues, link)
	pending |= queue->exceptions;
	target->exceptions_enabled = a->u.set_exceptions_enabled.exception_mask;
	if (pending & target->exceptions_enabled)
		tell_debugger(target);
	return 0;
}

static bool may(const struct call *call, const struct process *target, uint32_t op)
{
	return target == call->process || op == KFDABI_TRAP_DISABLE ||
	       process_tracer(target) == call->tid;
}

int ioctl_dbg_trap(struct call *call)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	struct process *target = process_by_ns_pid(call->process, (pid_t)a->pid);

	if (!target)
		return -ESRCH;
	if (!may(call, target, a->op))
		return -EPERM;
	if (target->locked) {
		process_block(target, call);
		return CALL_PENDING;
	}
	if (a->op != KFDABI_TRAP_ENABLE && !target->session)
		return -EINVAL;
	if (target->runtime_state != KFDABI_RUNTIME_ENABLED &&
	    (a->op == KFDABI_TRAP_SUSPEND_QUEUES || a->op == KFDABI_TRAP_RESUME_QUEUES))
		return -EPERM;
	switch (a->op) {
	case KFDABI_TRAP_ENABLE:
		return trap_enable(call, target);
	case KFDABI_TRAP_DISABLE:
		return session_end(target, call);
	case KFDABI_TRAP_SEND_RUNTIME_EVENT:
		return trap_send_event(call, target);
	case KFDABI_TRAP_SET_EXCEPTIONS_ENABLED:
		return trap_set_exceptions(call, target);
	case KFDABI_TRAP_SUSPEND_QUEUES:
		return trap_array(call, target, a->u.suspend.queue_array_ptr,
				  a->u.suspend.num_queues, a->u.suspend.exception_mask, false);
	case KFDABI_TRAP_RESUME_QUEUES:
		return trap_array(call, target, a->u.resume.queue_array_ptr, a->u.resume.num_queues,
				  0, true);
	case KFDABI_TRAP_GET_QUEUE_SNAPSHOT:
		return trap_snapshot(call, target);
	default:
		return a->op <= KFDABI_TRAP_GET_DEVICE_SNAPSHOT ? -EOPNOTSUPP : -EINVAL;
	}
}
