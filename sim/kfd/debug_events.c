// SPDX-License-Identifier: MIT
/*
 * Exceptions: what is raised, who is told, and how a debugger asks for it
 * (kfd-facts 1.3, 1.7).
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "sim/kfd/debug.h"

#define RUNTIME_MASK kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME)
#define MEMORY_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)

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

int debug_send_event(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	uint64_t mask = a->u.send_runtime_event.exception_mask;

	if (mask & RUNTIME_MASK)
		runtime_post(target);
	else if (mask & MEMORY_MASK && node_index(call->world, a->u.send_runtime_event.gpu_id) < 0)
		return -ENODEV;
	return 0;
}

int debug_set_exceptions(struct call *call, struct process *target)
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
