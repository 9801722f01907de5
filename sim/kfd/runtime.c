// SPDX-License-Identifier: MIT
/*
 * RUNTIME_ENABLE: the runtime announces itself and, where a debugger has a
 * session, sleeps until that has taken notice (kfd-facts 2).
 */
#include <errno.h>

#include "sim/kfd/kfd.h"

#define RUNTIME_MASK kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME)

static int sleep_for_post(struct process *process, struct call *call)
{
	if (process->runtime_posts) {
		process->runtime_posts--;
		return 0;
	}
	process->runtime_sleeper = call;
	return CALL_PENDING;
}

void runtime_post(struct process *process)
{
	struct call *call = process->runtime_sleeper;

	if (!call || !call_alive(call)) {
		process->runtime_posts++;
		return;
	}
	process->runtime_sleeper = NULL;
	call_answer(call, 0);
}

static void told(struct bounce *bounce)
{
	queues_wake_destroyers(bounce->process);
	debug_raise(bounce->process, NULL, RUNTIME_MASK);
}

/* The mutex is not held while it sleeps. */
static void then_sleep(struct bounce *bounce)
{
	struct call *call = bounce->call;

	if (bounce->process->dead)
		return;
	bounce->call = NULL;
	if (sleep_for_post(bounce->process, call) != CALL_PENDING)
		call_answer(call, 0);
}

static int tell_and_sleep(struct call *call, uint64_t nodes)
{
	struct bounce *bounce = bounce_new(call->process, call, told);

	if (!bounce)
		return -ENOMEM;
	bounce->nodes = nodes;
	bounce->released = then_sleep;
	bounce_begin(bounce);
	return CALL_PENDING;
}

static int enable(struct call *call, const struct kfdabi_runtime_enable *a)
{
	struct process *process = call->process;

	if (process->runtime_state != KFDABI_RUNTIME_DISABLED)
		return -EBUSY;
	if (!TAILQ_EMPTY(&process->queues))
		return -EEXIST;
	process->runtime_state = KFDABI_RUNTIME_ENABLED;
	process->r_debug = a->r_debug;
	process->ttmp_setup = !!(a->mode_mask & KFDABI_RUNTIME_MODE_TTMP_SAVE);
	return process->session ? tell_and_sleep(call, nodes_active(call->world)) : 0;
}

static int disable(struct call *call)
{
	struct process *process = call->process;
	bool was_enabled = process->runtime_state == KFDABI_RUNTIME_ENABLED;
	uint64_t nodes = 0;
	struct queue *queue;

	process->runtime_state = KFDABI_RUNTIME_DISABLED;
	process->r_debug = 0;
	if (!process->session)
		return 0;
	if (was_enabled) {
		nodes = nodes_active(call->world);
		TAILQ_FOREACH(queue, &process->queues, link)
		{
			if (queue->suspended)
				queue->record->resumes++;
			queue->suspended = false;
			nodes |= 1ull << queue->node;
		}
	}
	return tell_and_sleep(call, nodes);
}

int ioctl_runtime_enable(struct call *call)
{
	const struct kfdabi_runtime_enable *a = (void *)call->data;
	struct process *process = call->process;

	/* A signal took the sleeper out and the call was started again. */
	if (process->runtime_sleeper && !call_alive(process->runtime_sleeper)) {
		call_drop(process->runtime_sleeper);
		process->runtime_sleeper = NULL;
		return sleep_for_post(process, call);
	}
	return a->mode_mask & KFDABI_RUNTIME_MODE_ENABLE ? enable(call, a) : disable(call);
}
