// SPDX-License-Identifier: MIT
/*
 * Exceptions: how they are raised, how a debugger is notified, and how it queries them
 * (kfd_debug.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/wait.h"
#include "sim/driver/debug.h"
#include "sim/driver/memory.h"

#define MEMORY_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)

/* ---- errors in packets ----
 * Handles errors in a queue's packets. The packet processor stops the queue, writes a reason into
 * the inactive signal of an AQL queue (the runtime's codes), and raises "bad opcode" with the
 * exception's code. The driver passes the exception to a debugger that has enabled it. Otherwise
 * the driver notifies the runtime, through the address and event id that the runtime has left in
 * the header of the save area (kfd_debug.c and kfd_process.c of Linux 6.12).
 *
 * What firmware sends for a PM4 ring is not known: "unsupported packet" is assumed.
 */

#define STOPS_LOGGED 16u /* limit of logged stops of one process */

/* offsets in amd_queue_t and amd_signal_t, in bytes */
enum { QUEUE_RPTR = 128, QUEUE_INACTIVE_SIGNAL = 192, SIGNAL_VALUE = 8 };
/* offset in the save area: address of the runtime's error word, and event id */
#define HEADER_ERROR 24u

/* For each error: the bit in the value of the inactive signal, and the text for the log. */
static const struct {
	uint16_t signal;
	const char *text;
} errors[] = {
	[QUEUE_ERROR_DIMENSION] = {2, "a dispatch with a size of 0 or with too many workgroups"},
	[QUEUE_ERROR_GROUP_MEMORY] = {4,
				      "a workgroup with more group memory than a compute unit has"},
	[QUEUE_ERROR_CODE] = {8, "a dispatch without a kernel"},
	[QUEUE_ERROR_UNSUPPORTED] = {32, "a packet of an unknown type"},
	[QUEUE_ERROR_GROUP_SIZE] = {64, "a workgroup with more waves than a compute unit holds"},
	[QUEUE_ERROR_VENDOR] = {256, "a vendor packet of an unknown format"},
};

const char *queue_error_text(enum queue_error_code code)
{
	return errors[code].text;
}

/* Notifies the runtime of exceptions (mask) of the queue. The runtime has left an address and an
 * event id in the queue's save area: adds the mask to the word at this address and sets the
 * event. */
static void queue_notify_runtime(const struct queue *queue, uint64_t mask)
{
	struct {
		uint64_t payload;
		uint32_t event;
	} __attribute__((packed)) to;
	struct process *process = queue->process;
	uint64_t payload;

	if (!queue->save_address ||
	    task_memory(process->pid, queue->save_address + HEADER_ERROR, &to, sizeof to, false) ||
	    task_memory(process->pid, to.payload, &payload, sizeof payload, false))
		return;
	payload |= mask;
	if (!task_memory(process->pid, to.payload, &payload, sizeof payload, true))
		event_fire(process, to.event);
}

/* Stops the queue. Only the first reason is kept and logged. */
static void stop(struct queue *queue, const char *format, va_list args)
{
	const struct process_record *process = queue->process->record;
	struct queue_record *record = queue->record;

	queue->stopped = true;
	if (record->stopped[0])
		return;
	vsnprintf(record->stopped, sizeof record->stopped, format, args);
	if (queue->process->stops_logged >= STOPS_LOGGED)
		return;
	sim_log("pid %d (%s): queue %u stops: %s", process->pid, process->comm, queue->id,
		record->stopped);
	if (++queue->process->stops_logged == STOPS_LOGGED)
		sim_log("pid %d: further queues that stop are listed in the report only",
			process->pid);
}

void queue_halt(struct queue *queue, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	stop(queue, format, args);
	va_end(args);
}

void queue_error(struct queue *queue, enum queue_error_code code, const char *format, ...)
{
	struct process *process = queue->process;
	uint64_t mask = kfdabi_ec_mask(code), signal = 0, value = errors[code].signal;
	va_list args;

	va_start(args, format);
	stop(queue, format, args);
	va_end(args);
	if (process->dead)
		return;
	if (is_aql(queue))
		access_read(process, queue->rptr_address - QUEUE_RPTR + QUEUE_INACTIVE_SIGNAL,
			    &signal, sizeof signal);
	if (signal && !access_write(process, signal + SIGNAL_VALUE, &value, sizeof value))
		aql_notify_signal(process, signal);
	if (debug_raise(process, queue, mask) &&
	    rule_holds(process->sim, RULE_packet_error_goes_to_debugger))
		return;
	if (process->runtime_state == KFDABI_RUNTIME_ENABLED &&
	    rule_holds(process->sim, RULE_packet_error_goes_to_runtime))
		queue_notify_runtime(queue, mask);
}

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
