// SPDX-License-Identifier: MIT
/*
 * Pinning the caller's own pages takes time, with the mutex of its process held: every other call
 * of the process waits, and so does DBG_TRAP on it (kfd_ioctl_alloc_memory_of_gpu and
 * kfd_ioctl_set_debug_trap in kfd_chardev.c lock the same p->mutex).
 */
#include "common/clock.h"
#include "sim/driver/memory.h"
#include "sim/driver/process.h"

int pin_begin(struct call *call)
{
	struct process *process = call->process;
	struct sim *sim = call->sim;

	if (!sim->config.switches.pin_ns)
		return 0;
	process->pinning = call;
	process->pinned_ns = clock_ns() + sim->config.switches.pin_ns;
	if (process->pinned_ns < sim->next_pinned_ns)
		sim->next_pinned_ns = process->pinned_ns;
	process_lock(process);
	return CALL_PENDING;
}

static void pin_end(struct process *process)
{
	struct call *call = process->pinning;

	process->pinning = NULL;
	call_reply(call, 0);
	process_unlock(process);
}

void pin_forget(struct process *process)
{
	struct call *call = process->pinning;

	if (!call)
		return;
	process->pinning = NULL;
	call_drop(call);
	process_unref(process); /* reference that process_lock() took */
}

/* Returns a process whose pin is over; NULL: none. *@next: earliest end among the others. */
static struct process *find_due(struct sim *sim, uint64_t now_ns, uint64_t *next)
{
	struct process *process, *due = NULL;

	*next = UINT64_MAX;
	TAILQ_FOREACH(process, &sim->processes, link)
	{
		if (!process->pinning)
			continue;
		if (process->pinned_ns <= now_ns)
			due = process;
		else if (process->pinned_ns < *next)
			*next = process->pinned_ns;
	}
	return due;
}

void pins_expire(struct sim *sim, uint64_t now_ns)
{
	struct process *process;

	/* The end of one pin may start another one, of a call that waited for the mutex. */
	while ((process = find_due(sim, now_ns, &sim->next_pinned_ns)) != NULL)
		pin_end(process);
}
