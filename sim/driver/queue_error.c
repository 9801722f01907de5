// SPDX-License-Identifier: MIT
/*
 * Handles errors in a queue's packets. The packet processor stops the queue, writes a reason into
 * the inactive signal of an AQL queue (the runtime's codes), and raises "bad opcode" with the
 * exception's code. The driver passes the exception to a debugger that has enabled it. Otherwise
 * the driver notifies the runtime, through the address and event id that the runtime has left in
 * the header of the save area (kfd_debug.c and kfd_process.c of Linux 6.12).
 *
 * What firmware sends for a PM4 ring is not known: "unsupported packet" is assumed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/driver/queue.h"

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

void queue_notify_runtime(const struct queue *queue, uint64_t mask)
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
