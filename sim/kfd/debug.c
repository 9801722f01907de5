// SPDX-License-Identifier: MIT
/*
 * DBG_TRAP: who may, in which state, and what it does, by the rules of Linux
 * 6.12.95 (kfd-facts 1). In that release the calling thread must itself be the
 * tracer of the target's lead thread, except for DISABLE, which needs no
 * permission at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/kfd/debug.h"

static void set_debugger(struct process *target, struct process *debugger)
{
	if (debugger)
		process_ref(debugger);
	if (target->debugger)
		process_unref(target->debugger);
	target->debugger = debugger;
}

/* Nodes on which the process has a queue, or where a refresh costs something. */
static uint64_t nodes_concerned(const struct process *process)
{
	uint64_t nodes = nodes_active(process->world);
	const struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	nodes |= 1ull << queue->node;
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
		debug_resume_queue(queue);
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
		return debug_send_event(call, target);
	case KFDABI_TRAP_SET_EXCEPTIONS_ENABLED:
		return debug_set_exceptions(call, target);
	case KFDABI_TRAP_SUSPEND_QUEUES:
		return debug_suspend(call, target);
	case KFDABI_TRAP_RESUME_QUEUES:
		return debug_resume(call, target);
	case KFDABI_TRAP_GET_QUEUE_SNAPSHOT:
		return debug_queue_snapshot(call, target);
	default:
		return a->op <= KFDABI_TRAP_GET_DEVICE_SNAPSHOT ? -EOPNOTSUPP : -EINVAL;
	}
}
