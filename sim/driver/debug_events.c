// SPDX-License-Identifier: MIT
/*
 * Exceptions: how they are raised, how a debugger is notified, and how it queries them
 * (kfd_debug.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/wait.h"
#include "sim/driver/debug.h"
#include "sim/driver/memory.h"

#define RUNTIME_MASK kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME)
#define MEMORY_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)

/* Returns true if the kernel can write to the file. It cannot write to an eventfd, to /dev/null, or
 * to a file that is open for reading only. */
static bool writable_from_kernel(const struct sim *sim, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return false;
	return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode) ||
	       !rule_holds(sim, RULE_dbg_fd_eventfd_hears_nothing);
}

/* Writes one '.' to the debugger's dbg_fd. The driver blocks on a full pipe; kfdsim does not,
 * because it serves all processes. A regular file gets the dot at its beginning each time. */
static void notify_debugger(const struct process *process)
{
	char dots[8] = "........";
	ssize_t n;

	if (process->event_fd < 0 || poll_now(process->event_fd, POLLOUT) != POLLOUT ||
	    !writable_from_kernel(process->sim, process->event_fd))
		return;
	process->sim->woken++;
	n = pwrite(process->event_fd, dots, 1, 0);
	if (n < 0 && errno == ESPIPE)
		n = write(process->event_fd, dots, 1);
	if (n < 0 && errno == EINVAL)
		n = write(process->event_fd, dots, sizeof dots); /* an eventfd takes eight bytes */
}

/* Notifies the debugger if it has enabled one of the exceptions in @mask. Returns true if so. */
static bool is_subscribed(const struct process *process, uint64_t mask)
{
	bool subscribed = mask & process->exceptions_enabled;

	if (subscribed || !rule_holds(process->sim, RULE_dbg_fd_not_subscribed_no_dot))
		notify_debugger(process);
	if (subscribed && !rule_holds(process->sim, RULE_dbg_fd_one_dot_an_event))
		notify_debugger(process);
	return subscribed;
}

bool debug_raise(struct process *process, struct queue *queue, uint64_t mask)
{
	if (!process->session)
		return false;
	if (queue)
		queue->exceptions |= mask;
	else
		process->exceptions |= mask;
	return is_subscribed(process, mask);
}

static bool debug_raise_device(struct process *process, uint32_t node, uint64_t mask)
{
	if (!process->session && rule_holds(process->sim, RULE_exceptions_need_a_session))
		return false;
	process->device_exceptions[node] |= mask;
	return is_subscribed(process, mask);
}

void debug_queue_deleted(struct process *process, uint32_t node)
{
	if (rule_holds(process->sim, RULE_queue_delete_raised))
		debug_raise_device(process, node, kfdabi_ec_mask(KFDABI_EC_DEVICE_QUEUE_DELETE));
}

bool debug_memory_violation(struct process *process, uint32_t node, uint64_t va)
{
	const struct sim *sim = process->sim;

	process->violation[node] = va;
	return debug_raise_device(process, node, MEMORY_MASK) &&
	       rule_holds(sim, RULE_memory_violation_goes_to_debugger) &&
	       rule_holds(sim, RULE_memory_violation_evicts_nothing);
}

int debug_send_event(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	uint64_t mask = a->u.send_runtime_event.exception_mask;
	const struct sim *sim = call->sim;
	struct queue *queue;

	if (mask & MEMORY_MASK) {
		uint32_t gpu_id = a->u.send_runtime_event.gpu_id;
		int node = node_index(sim, gpu_id);

		if (node < 0)
			return rule_errno(sim, RULE_send_event_unknown_gpu_is_enodev, -ENODEV, 0);
		if (!rule_holds(sim, RULE_memory_violation_passed_on_evicts))
			event_memory_fault(target, gpu_id, target->violation[node]);
		else if (rule_holds(sim, RULE_memory_violation_can_be_passed_on))
			fault_passed_on(target, (uint32_t)node);
		mask &= ~MEMORY_MASK;
	}
	if (mask & RUNTIME_MASK)
		runtime_post(target);
	mask &= ~RUNTIME_MASK;
	if (!mask)
		return 0;
	queue = queue_by_id(target, a->u.send_runtime_event.queue_id);
	if (queue)
		queue_notify_runtime(queue, mask);
	else if (!rule_holds(sim, RULE_send_event_unknown_queue_is_0))
		return -EINVAL;
	return 0;
}

/* Returns all exceptions of the process, its queues and its GPUs that were raised and not
 * cleared. */
static uint64_t pending(const struct process *target)
{
	uint64_t mask = target->exceptions;
	const struct queue *queue;

	TAILQ_FOREACH(queue, &target->queues, link)
	mask |= queue->exceptions;
	for (uint32_t i = 0; i < target->sim->nodes_n; i++)
		mask |= target->device_exceptions[i];
	return mask;
}

/* Sends no notification for exceptions that are pending at ENABLE, as the driver sends none. */
void debug_subscribe(struct process *target, uint64_t mask)
{
	target->exceptions_enabled = mask;
	if (!rule_holds(target->sim, RULE_dbg_fd_pending_at_enable_no_dot) &&
	    pending(target) & mask)
		notify_debugger(target);
}

int debug_set_exceptions(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;

	target->exceptions_enabled = a->u.set_exceptions_enabled.exception_mask;
	if (pending(target) & target->exceptions_enabled &&
	    rule_holds(call->sim, RULE_set_exceptions_writes_pending))
		notify_debugger(target);
	return 0;
}

/* Searches queues, GPUs and the process, in the driver's order, for the first that has an enabled
 * exception. Returns a pointer to its exceptions and stores the ids of its GPU and queue; returns
 * NULL if there is none. */
static uint64_t *find_event(struct process *target, uint32_t *gpu_id, uint32_t *queue_id)
{
	const struct sim *sim = target->sim;
	uint64_t enabled = target->exceptions_enabled;
	struct queue *queue, *found = NULL;

	if (target->exceptions & enabled && !rule_holds(sim, RULE_query_event_queues_then_process))
		return &target->exceptions;
	TAILQ_FOREACH(queue, &target->queues, link)
	{
		if (!(queue->exceptions & enabled))
			continue;
		found = queue;
		if (rule_holds(sim, RULE_query_event_newest_queue_first))
			break;
	}
	if (found) {
		*queue_id = found->id;
		*gpu_id = found->record->gpu_id;
		return &found->exceptions;
	}
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		if (!(target->device_exceptions[i] & enabled))
			continue;
		*gpu_id = sim->nodes[i].gpu_id;
		return &target->device_exceptions[i];
	}
	return target->exceptions & enabled ? &target->exceptions : NULL;
}

int debug_query_event(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	uint64_t clear = a->u.query_event.exception_mask, *status;
	const struct sim *sim = call->sim;

	a->u.query_event.gpu_id = a->u.query_event.queue_id = 0;
	a->u.query_event.exception_mask = 0;
	status = find_event(target, &a->u.query_event.gpu_id, &a->u.query_event.queue_id);
	if (!status)
		return rule_errno(sim, RULE_query_event_none_is_eagain, -EAGAIN, 0);
	a->u.query_event.exception_mask = *status;
	if (!rule_holds(sim, RULE_query_event_gives_whole_status))
		a->u.query_event.exception_mask &= target->exceptions_enabled;
	if (!rule_holds(sim, RULE_query_event_clears_given_bits))
		clear = UINT64_MAX;
	*status &= ~clear;
	runlist_update_collected(target);
	return 0;
}

/* Returns a pointer to the pending exceptions of the source that the kind of exception in @mask
 * implies: the queue or the GPU with the id @source, or the process. Returns NULL if there is no
 * such source. */
static uint64_t *find_source(struct process *target, uint64_t mask, uint32_t source)
{
	struct queue *queue;
	int node;

	if (mask & KFDABI_EC_QUEUE_MASK) {
		queue = queue_by_id(target, source);
		return queue ? &queue->exceptions : NULL;
	}
	if (mask & KFDABI_EC_DEVICE_MASK) {
		node = node_index(target->sim, source);
		return node < 0 ? NULL : &target->device_exceptions[node];
	}
	return mask & KFDABI_EC_PROCESS_MASK ? &target->exceptions : NULL;
}

int debug_query_info(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t code = a->u.query_info.exception_code, room = a->u.query_info.info_size;
	uint64_t mask = code && code < 64 ? kfdabi_ec_mask(code) : 0, *status;
	struct kfdabi_runtime_info info = {
		.r_debug = target->r_debug,
		.runtime_state = target->runtime_state,
		.ttmp_setup = target->ttmp_setup,
	};
	const struct sim *sim = call->sim;

	if (!a->u.query_info.info_ptr && rule_holds(sim, RULE_query_info_null_is_einval))
		return -EINVAL;
	status = find_source(target, mask, a->u.query_info.source_id);
	if (!status)
		return rule_errno(sim, RULE_query_info_bad_source_is_einval, -EINVAL, -ENODATA);
	if (!(*status & mask))
		return rule_errno(sim, RULE_query_info_not_raised_is_enodata, -ENODATA, 0);
	if (mask == RUNTIME_MASK && call_write(call, a->u.query_info.info_ptr, &info,
					       room < sizeof info ? room : sizeof info))
		return -EFAULT;
	/* The driver stores the data of a memory violation but never its size: the caller gets 0
	 * bytes. */
	a->u.query_info.info_size =
		mask == RUNTIME_MASK && rule_holds(sim, RULE_query_info_runtime) ? sizeof info : 0;
	if (mask == MEMORY_MASK && !rule_holds(sim, RULE_query_info_memory_violation_is_empty))
		a->u.query_info.info_size = sizeof(struct kfd_hsa_memory_exception_data);
	if (a->u.query_info.clear_exception || !rule_holds(sim, RULE_query_info_clears_on_demand))
		*status &= ~mask;
	return 0;
}
