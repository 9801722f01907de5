// SPDX-License-Identifier: MIT
/*
 * Implements the ioctl DBG_TRAP: checks permission and state for each operation, and keeps the
 * debug session (kfd_chardev.c, kfd_debug.c). Behaviour that changed within Linux 6.12 or later
 * depends on sim->config.kernel.
 *
 * The machine's own kernel decides whether a process is allowed to trace another one (Yama,
 * credentials). This file only checks the result, TracerPid.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/driver/debug.h"
#include "sim/driver/memory.h"

/* Number of runlist updates of a DISABLE: one each to resume the queues, to reset the launch mode,
 * to reset the flags, and to undo the setup for debugging. */
#define DISABLE_UPDATES 4u

/* The only simulated GPU type whose older firmware cannot have GWS and debugging in one process. */
#define GFX_9_4_1 90008u /* as in the topology */
#define GWS_FIRMWARE_9_4_1 48u

/* Replaces the target's debugger (NULL: none). Takes a reference to the new debugger and drops the
 * reference to the earlier one. */
static void set_debugger(struct process *target, struct process *debugger)
{
	if (debugger)
		process_ref(debugger);
	if (target->debugger)
		process_unref(target->debugger);
	target->debugger = debugger;
}

/* Returns the mask of nodes where the process has a queue or where a runlist update takes time. */
static uint64_t nodes_concerned(const struct process *process)
{
	uint64_t nodes = nodes_active(process->sim);
	const struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	nodes |= 1ull << queue->node;
	return nodes;
}

/* Reserves the last VMID of every GPU for the target. If another process holds one of them,
 * reserves none. Does so only on GPU types without debug settings per VMID, on which only one
 * process can be debugged at a time. */
void debug_arm(struct process *target, struct runlist_update *update)
{
	struct sim *sim = target->sim;
	bool per_vmid = kfdabi_per_vmid(sim->config.node.gfx_target_version);

	if (!rule_holds(sim, RULE_enable_many_per_gpu))
		per_vmid = false;
	if (!rule_holds(sim, target->session ? RULE_runtime_enable_on_taken_gpu_is_busy
					     : RULE_enable_second_on_gpu_is_busy))
		per_vmid = true;
	update->nodes |= nodes_active(sim);
	if (per_vmid) {
		update->grace = debug_grace(sim, 0);
		return;
	}
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (sim->nodes[i].debug_vmid && sim->nodes[i].debug_vmid != target) {
			target->runtime_state = KFDABI_RUNTIME_BUSY;
			update->nodes = 0;
			return;
		}
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		sim->nodes[i].debug_vmid = target;
	update->again++; /* two updates: one for the VMID, one for the settings */
}

/* Frees the debug VMIDs that the target holds, on all GPUs. */
static void release_vmids(struct process *target)
{
	struct sim *sim = target->sim;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (sim->nodes[i].debug_vmid == target)
			sim->nodes[i].debug_vmid = NULL;
}

void debug_disarm(struct process *target, struct runlist_update *update)
{
	struct sim *sim = target->sim;
	struct queue *queue;
	bool resume = rule_holds(sim, target->runtime_state == KFDABI_RUNTIME_ENABLED
					      ? RULE_disable_resumes
					      : RULE_runtime_disable_resumes);

	TAILQ_FOREACH(queue, &target->queues, link)
	if (resume)
		debug_resume_queue(queue);
	update->nodes |= nodes_concerned(target);
	update->again += DISABLE_UPDATES - 1 + debug_watches_release(target);
	target->trap_mask = 0;
	if (rule_holds(sim, RULE_disable_clears_flags))
		target->debug_flags = 0;
	if (rule_holds(sim, RULE_disable_frees_gpu_for_next))
		release_vmids(target);
}

/* Ends a session whose queues are resumed already: closes the dbg_fd, drops the debugger, and
 * clears `session` and the pending exceptions. */
static void session_clear(struct process *target)
{
	struct sim *sim = target->sim;
	struct queue *queue;

	if (target->event_fd >= 0 &&
	    rule_holds(sim, target->dead ? RULE_dbg_fd_hangs_up_at_exit
					 : RULE_dbg_fd_hangs_up_at_disable))
		close(target->event_fd);
	target->event_fd = -1;
	if (target->debugger)
		target->debugger->debugged--;
	set_debugger(target, NULL);
	target->session = false;
	target->exceptions = 0;
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		target->device_exceptions[i] = 0;
	TAILQ_FOREACH(queue, &target->queues, link)
	if (rule_holds(sim, RULE_disable_clears_exceptions))
		queue->exceptions = 0;
}

static void resumed(struct runlist_update *update)
{
	queues_wake_destroyers(update->process, UINT64_MAX, RULE_disable_wakes_destroy);
}

/* Ends the debug session of the target. @call: the DISABLE; NULL if the debugger has died. Returns
 * CALL_PENDING or -ENOMEM. */
static int session_end(struct call *call, struct process *target)
{
	struct runlist_update *update = runlist_update_new(target, call, resumed);

	if (!update)
		return -ENOMEM;
	if (!rule_holds(target->sim, call ? RULE_runtime_disable_op_wakes_nobody
					  : RULE_runtime_debugger_death_wakes_nobody))
		runtime_post(target);
	if (target->runtime_state == KFDABI_RUNTIME_ENABLED)
		debug_disarm(target, update);
	else if (target->runtime_state != KFDABI_RUNTIME_DISABLED &&
		 rule_holds(target->sim, RULE_disable_returns_busy_to_enabled))
		target->runtime_state = KFDABI_RUNTIME_ENABLED;
	session_clear(target);
	runlist_update_begin(update);
	return CALL_PENDING;
}

void debug_session_end(struct process *target)
{
	if (target->locked)
		target->disable_later = true;
	else if (target->session && session_end(NULL, target) != CALL_PENDING)
		sim_log("out of memory to resume pid %d after the end of its debugger",
			target->pid);
}

void debug_process_died(struct process *process)
{
	struct sim *sim = process->sim;
	struct process *target, *next;
	struct call *sleeper;

	if (process->session && rule_holds(sim, RULE_life_target_killed_while_suspended))
		session_clear(process);
	debug_watches_release(process);
	release_vmids(process);
	set_debugger(process, NULL);
	while ((sleeper = TAILQ_FIRST(&process->runtime_sleepers))) {
		TAILQ_REMOVE(&process->runtime_sleepers, sleeper, link);
		call_drop(sleeper);
	}
	/* As in the driver, the targets of a dead debugger are searched only if its count of
	 * targets is above 0. A refused ENABLE stores the refused process as the target's debugger,
	 * but its count stays 0. If the earlier debugger dies after that, its session does not end
	 * either, because the target no longer refers to the earlier debugger. */
	if (process->debugged <= 0 && rule_holds(sim, RULE_enable_poisons_owner))
		return;
	if (!rule_holds(sim, RULE_life_debugger_killed_resumes) ||
	    (!rule_holds(sim, RULE_life_debugger_exec_resumes) && process_pid_alive(process)))
		return;
	for (target = TAILQ_FIRST(&sim->processes); target; target = next) {
		next = TAILQ_NEXT(target, link);
		if (target->debugger != process)
			continue;
		debug_session_end(target);
		if (!rule_holds(sim, RULE_life_debugger_killed_allows_enable))
			target->session = true;
		if (!rule_holds(sim, RULE_life_debugger_killed_resumes_all))
			return;
	}
}

/* Ends the session at a close or detach if --break breaks the rule that the session continues. The
 * driver ignores both, so without --break this function does nothing. */
void debug_check(struct process *process)
{
	const struct sim *sim = process->sim;
	bool gone = false;

	if (!process->session || !process->debugger)
		return;
	if (!rule_holds(sim, RULE_life_detach_keeps_suspended))
		gone = !process_tracer(process);
	else if (!rule_holds(sim, RULE_life_debugger_close_keeps_session))
		gone = !process_holds_kfd(process->debugger);
	else if (!rule_holds(sim, RULE_life_target_close_keeps_session))
		gone = !process_holds_kfd(process);
	if (gone)
		debug_session_end(process);
}

/* Duplicates the debugger's dbg_fd @number. Returns the new fd or a negative errno. */
static int take_event_fd(const struct call *call, uint32_t number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, call->process->pidfd, number, 0), flags;

	if (fd < 0)
		return rule_errno(call->sim, RULE_enable_bad_fd_is_ebadf, -EBADF, -EINVAL);
	flags = fcntl(fd, F_GETFL);
	if (!rule_holds(call->sim, RULE_dbg_fd_may_be_anything_open) &&
	    (flags & O_ACCMODE) == O_RDONLY) {
		close(fd);
		return -EINVAL;
	}
	if (flags & O_PATH && rule_holds(call->sim, RULE_enable_path_fd_is_ebadf)) {
		close(fd);
		return -EBADF;
	}
	return fd;
}

static int write_info(struct call *call, const struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	struct kfdabi_runtime_info info = {
		.r_debug = target->r_debug,
		.runtime_state = rule_holds(call->sim, RULE_enable_tells_runtime_state)
					 ? target->runtime_state
					 : KFDABI_RUNTIME_DISABLED,
		.ttmp_setup = target->ttmp_setup,
	};
	uint32_t room = a->u.enable.rinfo_size;

	if (room > sizeof info || !rule_holds(call->sim, RULE_enable_info_is_cut))
		room = sizeof info;
	if (rule_holds(call->sim, RULE_enable_info_size_is_16))
		a->u.enable.rinfo_size = sizeof info;
	return call_write(call, a->u.enable.rinfo_ptr, &info, room);
}

/* Marks all queues of the target as suspended at ENABLE (--set enable_leaves_unmapped). One report
 * from real hardware says that after ENABLE the queues wait for a RESUME. */
static void leave_unmapped(struct process *target)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &target->queues, link)
	{
		if (!queue->suspended)
			queue->record->suspends++;
		queue->suspended = true;
	}
}

/* Handles an ENABLE whose runtime information cannot be written to the caller. In Linux 6.12 the
 * session stays; in 7.3 it is ended completely. */
static void info_failed(struct process *target, struct runlist_update *update)
{
	const struct sim *sim = target->sim;

	update->result = -EFAULT;
	if (!like_linux_7(sim, RULE_enable_bad_info_leaves_session,
			  RULE_enable_bad_info_ends_session))
		return;
	if (target->runtime_state == KFDABI_RUNTIME_ENABLED)
		debug_disarm(target, update);
	session_clear(target);
}

/* Ends an ENABLE after its runlist update: wakes the DESTROY_QUEUE calls that can continue. */
static void enabled(struct runlist_update *update)
{
	struct process *target = update->process;

	/* If the debugger died during the update, the session could not be ended then, because the
	 * target was locked. End it later. */
	if (target->session && target->debugger && target->debugger->dead)
		target->disable_later = true;
	queues_wake_destroyers(target, UINT64_MAX, RULE_disable_wakes_destroy);
}

bool debug_with_gws(const struct sim *sim)
{
	const struct profile *chip = &sim->config.node;

	return chip->gfx_target_version != GFX_9_4_1 || chip->fw_version >= GWS_FIRMWARE_9_4_1;
}

static bool uses_gws(const struct process *process)
{
	const struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->gws)
		return true;
	return false;
}

static int trap_enable(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	const struct sim *sim = call->sim;
	bool early = rule_holds(sim, RULE_enable_poisons_owner) &&
		     rule_holds(sim, RULE_debug_failed_enable_authorises);
	struct runlist_update *update;
	int fd;

	/* The driver stores the debugger before it tries to enable, and does not undo that on
	 * failure. */
	if (target != call->process && early)
		set_debugger(target, call->process);
	fd = take_event_fd(call, a->u.enable.dbg_fd);
	if (target->session && rule_holds(sim, RULE_enable_twice_is_ealready) &&
	    !(fd < 0 && !rule_holds(sim, RULE_enable_already_before_bad_fd))) {
		if (fd >= 0)
			close(fd);
		return rule_errno(sim, RULE_concurrent_enable_disable_errnos, -EALREADY, -EBUSY);
	}
	if (!debug_with_gws(sim) && uses_gws(target)) {
		if (fd >= 0)
			close(fd);
		return -EBUSY;
	}
	if (fd < 0)
		return fd;
	update = runlist_update_new(target, call, enabled);
	if (!update) {
		close(fd);
		return -ENOMEM;
	}
	if (target->event_fd >= 0)
		close(target->event_fd);
	target->event_fd = fd;
	if (target != call->process && !early)
		set_debugger(target, call->process);
	if (target->runtime_state == KFDABI_RUNTIME_ENABLED) {
		debug_arm(target, update);
		if (sim->config.node.enable_leaves_unmapped ||
		    !rule_holds(sim, RULE_enable_keeps_queues_running)) {
			leave_unmapped(target);
			update->nodes |= nodes_concerned(target);
		}
	}
	target->session = true;
	if (target->debugger)
		target->debugger->debugged++;
	if (write_info(call, target))
		info_failed(target, update);
	else
		debug_subscribe(target, a->u.enable.exception_mask);
	runlist_update_begin(update);
	return CALL_PENDING;
}

/* Returns true if the caller is allowed to use @op on the target: on itself, or as its tracer.
 * Linux before 6.12.107 requires the tracing thread, except for DISABLE, which is open to all.
 * Later kernels also accept every thread of the process that is stored as the target's debugger. */
static bool may(const struct call *call, const struct process *target, uint32_t op)
{
	bool strict = call->sim->config.kernel < KFDABI_LINUX_6_12_107;
	bool self = target == call->process, owner = target->debugger == call->process;
	int tracer = self ? 0 : process_tracer(target);
	bool allowed = self || tracer == call->tid || (strict ? op == KFDABI_TRAP_DISABLE : owner);

	switch (call->sim->config.broken_rule) {
	case RULE_debug_self_needs_no_tracer:
		return allowed && !self;
	case RULE_debug_target_may_use_its_session:
		return allowed && !(self && target->debugger && !owner);
	case RULE_debug_disable_open_to_all:
		return allowed && (self || tracer == call->tid || op != KFDABI_TRAP_DISABLE);
	case RULE_debug_disable_by_stranger_is_eperm:
		return allowed || op == KFDABI_TRAP_DISABLE;
	case RULE_debug_other_thread_is_eperm:
		return allowed || (tracer && process_of_thread(call->sim, tracer) == call->process);
	case RULE_debug_detached_is_eperm:
		return allowed || owner;
	case RULE_debug_stranger_is_eperm:
		return allowed || op == KFDABI_TRAP_ENABLE;
	case RULE_debug_stranger_with_session_is_eperm:
		return allowed || op == KFDABI_TRAP_SEND_RUNTIME_EVENT;
	case RULE_debug_child_of_owner_is_eperm:
		return true;
	case RULE_debug_owner_may_use_any_thread:
		return self || tracer == call->tid || (allowed && !tracer);
	case RULE_debug_owner_may_detach:
		return self || (allowed && tracer);
	default:
		return allowed;
	}
}

enum { HARDWARE = 1, NODE = 2 };

static const struct operation {
	int (*run)(struct call *call, struct process *target);
	/* HARDWARE: needs an enabled runtime; NODE: the arguments name a GPU */
	unsigned flags;
} operations[] = {
	[KFDABI_TRAP_ENABLE] = {trap_enable, 0},
	[KFDABI_TRAP_DISABLE] = {session_end, 0},
	[KFDABI_TRAP_SEND_RUNTIME_EVENT] = {debug_send_event, 0},
	[KFDABI_TRAP_SET_EXCEPTIONS_ENABLED] = {debug_set_exceptions, 0},
	[KFDABI_TRAP_SET_WAVE_LAUNCH_OVERRIDE] = {debug_launch_override, HARDWARE},
	[KFDABI_TRAP_SET_WAVE_LAUNCH_MODE] = {debug_launch_mode, HARDWARE},
	[KFDABI_TRAP_SUSPEND_QUEUES] = {debug_suspend, HARDWARE},
	[KFDABI_TRAP_RESUME_QUEUES] = {debug_resume, HARDWARE},
	[KFDABI_TRAP_SET_NODE_ADDRESS_WATCH] = {debug_set_watch, HARDWARE | NODE},
	[KFDABI_TRAP_CLEAR_NODE_ADDRESS_WATCH] = {debug_clear_watch, HARDWARE | NODE},
	[KFDABI_TRAP_SET_FLAGS] = {debug_set_flags, HARDWARE},
	[KFDABI_TRAP_QUERY_DEBUG_EVENT] = {debug_query_event, 0},
	[KFDABI_TRAP_QUERY_EXCEPTION_INFO] = {debug_query_info, 0},
	[KFDABI_TRAP_GET_QUEUE_SNAPSHOT] = {debug_queue_snapshot, 0},
	[KFDABI_TRAP_GET_DEVICE_SNAPSHOT] = {debug_device_snapshot, 0},
};
#define OPERATIONS (sizeof operations / sizeof *operations)

static int gpu_known(const struct call *call)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t gpu_id = a->op == KFDABI_TRAP_SET_NODE_ADDRESS_WATCH ? a->u.set_watch.gpu_id
								      : a->u.clear_watch.gpu_id;

	if (node_index(call->sim, gpu_id) >= 0)
		return 0;
	return rule_errno(call->sim, RULE_watch_unknown_gpu_is_enodev, -ENODEV, -EINVAL);
}

/* Executes a DBG_TRAP operation after the permission check. The target's mutex must be free. */
static int run(struct call *call, struct process *target, uint32_t op)
{
	const struct operation *operation = op < OPERATIONS ? &operations[op] : NULL;
	const struct sim *sim = call->sim;
	unsigned flags = operation ? operation->flags : 0;
	int r = flags & NODE ? gpu_known(call) : 0;

	if (r && !rule_holds(sim, RULE_debug_runtime_state_before_gpu))
		return r;
	if (flags & HARDWARE && target->runtime_state != KFDABI_RUNTIME_ENABLED)
		return rule_errno(sim, RULE_debug_hardware_ops_need_runtime, -EPERM, -EACCES);
	if (r)
		return r;
	if (!operation)
		return rule_errno(sim, RULE_debug_unknown_op_is_einval, -EINVAL, -ENOTTY);
	return operation->run ? operation->run(call, target) : -EOPNOTSUPP;
}

/* Returns the errno of an operation on a target without a debug session. */
static int no_session(const struct sim *sim, uint32_t op)
{
	if (op == KFDABI_TRAP_DISABLE)
		return rule_errno(sim, RULE_debug_disable_without_session_is_einval, -EINVAL, 0);
	return rule_errno(sim, RULE_debug_no_session_is_einval, -EINVAL, -ENODATA);
}

/* Returns the errno of an operation on a process that does not exist or has no KFD process. */
static int no_target(const struct sim *sim, uint32_t op)
{
	switch (sim->config.broken_rule) {
	case RULE_debug_unknown_pid_is_esrch:
		return -EINVAL;
	case RULE_debug_target_without_kfd_is_esrch:
		return op == KFDABI_TRAP_ENABLE ? -ENOENT : -ESRCH;
	case RULE_debug_zombie_target_is_esrch:
		return op == KFDABI_TRAP_DISABLE ? 0 : -ESRCH;
	case RULE_life_target_exec_ends_session:
	case RULE_life_fork_child_is_no_target:
	case RULE_life_target_crash_ends_session:
	case RULE_life_pid_reuse_is_esrch:
		return op == KFDABI_TRAP_ENABLE || op == KFDABI_TRAP_DISABLE ? 0 : -EINVAL;
	default:
		return -ESRCH;
	}
}

int ioctl_dbg_trap(struct call *call)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	const struct sim *sim = call->sim;
	uint32_t op = a->op;
	struct process *target;

	if (call->process->primary)
		return rule_errno(sim, RULE_context_cannot_debug, -EOPNOTSUPP, -EPERM);
	target = process_by_ns_pid(call->process, (pid_t)a->pid);
	if (!target && op == KFDABI_TRAP_ENABLE &&
	    rule_holds(sim, RULE_debug_tracer_makes_kfd_process))
		target = process_new_traced(call->process, (pid_t)a->pid, call->tid);
	if (!target)
		return no_target(sim, op);
	debug_check(target);
	if (op != KFDABI_TRAP_ENABLE && !target->session &&
	    !rule_holds(sim, RULE_debug_permission_before_session))
		return -EINVAL;
	if (!may(call, target, op))
		return -EPERM;
	if (target->locked) {
		process_block(target, call);
		return CALL_PENDING;
	}
	if (op != KFDABI_TRAP_ENABLE && !target->session)
		return no_session(sim, op);
	return run(call, target, op);
}
