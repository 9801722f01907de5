// SPDX-License-Identifier: MIT
/*
 * Implements RUNTIME_ENABLE, by which the runtime announces itself to the driver. If a debugger has
 * a session, the call sleeps until the debugger has answered (kfd_chardev.c).
 */
#include <errno.h>

#include "sim/driver/debug.h"

#define CAPABILITY_CORE_DUMP 0x80000000u

/* Lets the call wait until the debugger calls SEND_RUNTIME_EVENT. Returns CALL_PENDING, or 0 if the
 * debugger has called it before. */
static int sleep_for_post(struct process *process, struct call *call)
{
	if (process->runtime_posts) {
		process->runtime_posts--;
		return 0;
	}
	TAILQ_INSERT_TAIL(&process->runtime_sleepers, call, link);
	return CALL_PENDING;
}

void runtime_post(struct process *process)
{
	struct call *call;

	TAILQ_FOREACH(call, &process->runtime_sleepers, link)
	if (call_alive(call))
		break;
	if (!call) {
		if (rule_holds(process->sim, RULE_runtime_post_ahead_counts))
			process->runtime_posts++;
		return;
	}
	TAILQ_REMOVE(&process->runtime_sleepers, call, link);
	call_reply(call, 0);
}

static bool sleeps(const struct process *process)
{
	return rule_holds(process->sim, process->runtime_state == KFDABI_RUNTIME_DISABLED
						? RULE_runtime_disable_sleeps
						: RULE_runtime_enable_sleeps);
}

/* Notifies the debugger and lets the RUNTIME_ENABLE call sleep until the debugger answers. The
 * process's mutex is not held meanwhile. */
static void notify_and_sleep(struct runlist_update *update)
{
	struct process *process = update->process;
	struct call *call = update->call;

	queues_wake_destroyers(process, UINT64_MAX, RULE_runtime_disable_wakes_destroy);
	debug_raise(process, NULL, RUNTIME_MASK);
	if (process->dead || !sleeps(process))
		return;
	update->call = NULL;
	if (sleep_for_post(process, call) != CALL_PENDING)
		call_reply(call, 0);
}

static int enable(struct call *call, struct kfdabi_runtime_enable *a)
{
	struct process *process = call->process;
	const struct sim *sim = call->sim;
	struct runlist_update *update;

	if (process->runtime_state != KFDABI_RUNTIME_DISABLED)
		return rule_errno(sim, RULE_runtime_enable_twice_is_ebusy, -EBUSY, 0);
	if (!TAILQ_EMPTY(&process->queues) &&
	    rule_holds(sim, RULE_runtime_enable_after_queue_is_eexist))
		return -EEXIST;
	if (!rule_holds(sim, RULE_runtime_capabilities_untouched))
		a->capabilities_mask = CAPABILITY_CORE_DUMP;
	update = process->session ? runlist_update_new(process, call, notify_and_sleep) : NULL;
	if (process->session && !update)
		return -ENOMEM;
	process->runtime_state = KFDABI_RUNTIME_ENABLED;
	process->r_debug = a->r_debug;
	process->ttmp_setup = !!(a->mode_mask & KFDABI_RUNTIME_MODE_TTMP_SAVE);
	if (!update)
		return 0;
	debug_arm(process, update);
	runlist_update_begin(update);
	return CALL_PENDING;
}

/* Disables the runtime. GPU types with trap settings per VMID reset them with a runlist update,
 * with or without a session. Returns CALL_PENDING or -ENOMEM. */
static int disable(struct call *call)
{
	struct process *process = call->process;
	bool was_enabled = process->runtime_state == KFDABI_RUNTIME_ENABLED;
	bool per_vmid = kfdabi_per_vmid(call->sim->config.node.gfx_target_version);
	struct runlist_update *update =
		runlist_update_new(process, call, process->session ? notify_and_sleep : NULL);

	if (!update)
		return -ENOMEM;
	if (rule_holds(call->sim, RULE_runtime_disable_ends_state))
		process->runtime_state = KFDABI_RUNTIME_DISABLED;
	process->r_debug = 0;
	process->ttmp_setup = 0;
	if (process->session) {
		if (was_enabled)
			debug_disarm(process, update);
		update->again += per_vmid && update->nodes;
	} else if (per_vmid) {
		update->nodes = nodes_active(call->sim);
	}
	runlist_update_begin(update);
	return CALL_PENDING;
}

/* Drops a sleeping call of the process that a signal has interrupted. Returns true if there was
 * one: the present call repeats it. */
static bool interrupted(struct process *process)
{
	struct call *call;

	TAILQ_FOREACH(call, &process->runtime_sleepers, link)
	{
		if (call_alive(call))
			continue;
		TAILQ_REMOVE(&process->runtime_sleepers, call, link);
		call_drop(call);
		return true;
	}
	return false;
}

int ioctl_runtime_enable(struct call *call)
{
	struct kfdabi_runtime_enable *a = (void *)call->data;
	struct process *process = call->process;

	if (interrupted(process)) {
		if (!process->session &&
		    rule_holds(call->sim, RULE_runtime_retry_without_session_is_0))
			return 0;
		if (!rule_holds(call->sim, RULE_runtime_retry_sleeps_on))
			debug_raise(process, NULL, RUNTIME_MASK);
		return sleep_for_post(process, call);
	}
	return a->mode_mask & KFDABI_RUNTIME_MODE_ENABLE ? enable(call, a) : disable(call);
}
