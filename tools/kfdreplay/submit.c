// SPDX-License-Identifier: MIT
// Submits requests to the HSA queue: packets, copies, and the wait for the end.
#include <inttypes.h>
#include <string.h>

#include "tools/kfdreplay/rt.h"

#define PACKETS_PER_OP 2u /* a barrier and a dispatch */

/* The runtime's texts have the form "NAME: a sentence or two"; see hsa_name_length(). */
const char *hsa_name(hsa_status_t status)
{
	const char *text = NULL;

	if (hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || !text)
		return "an unknown HSA status";
	return text;
}

int hsa_name_length(hsa_status_t status)
{
	return (int)strcspn(hsa_name(status), ":");
}

static void check_queue(struct rt *rt)
{
	hsa_status_t status = __atomic_load_n(&rt->hsa.queue_status, __ATOMIC_ACQUIRE);

	if (status != HSA_STATUS_SUCCESS)
		fail(EXIT_FAILURE, "the queue was stopped by an error: %.*s",
		     hsa_name_length(status), hsa_name(status));
}

static bool ring_full(const struct rt *rt)
{
	uint64_t written = hsa_queue_load_write_index_relaxed(rt->hsa.queue);
	uint64_t read = hsa_queue_load_read_index_scacquire(rt->hsa.queue);

	return written - read + PACKETS_PER_OP > rt->hsa.queue->size;
}

/* Write a packet and ring the doorbell. The first word is written last, because its header makes
 * the packet valid. Returns the index of the packet. */
static uint64_t publish(struct rt *rt, const void *packet)
{
	uint64_t index = hsa_queue_add_write_index_screlease(rt->hsa.queue, 1);
	char *slot = (char *)rt->hsa.queue->base_address + (index & (rt->hsa.queue->size - 1)) * 64;
	uint32_t first;

	memcpy(&first, packet, sizeof(first));
	memcpy(slot + sizeof(first), (const char *)packet + sizeof(first), 64 - sizeof(first));
	__atomic_store_n((uint32_t *)(void *)slot, first, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(rt->hsa.queue->doorbell_signal, (hsa_signal_value_t)index);
	return index;
}

static uint16_t header(hsa_packet_type_t type, hsa_fence_scope_t scope)
{
	return (uint16_t)(type << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER |
			  scope << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  scope << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

static uint64_t publish_barrier(struct rt *rt, hsa_fence_scope_t scope, const hsa_signal_t *after,
				hsa_signal_t done)
{
	hsa_barrier_and_packet_t packet = {
		.header = header(HSA_PACKET_TYPE_BARRIER_AND, scope),
		.completion_signal = done,
	};

	if (after)
		packet.dep_signal[0] = *after;
	return publish(rt, &packet);
}

static uint64_t publish_dispatch(struct rt *rt, const struct plan_op *op, hsa_fence_scope_t scope,
				 hsa_signal_t done)
{
	hsa_kernel_dispatch_packet_t packet = {
		.header = header(HSA_PACKET_TYPE_KERNEL_DISPATCH, scope),
		.setup = 1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS,
		.workgroup_size_x = PLAN_THREADS,
		.workgroup_size_y = 1,
		.workgroup_size_z = 1,
		.grid_size_x = op->workgroups * PLAN_THREADS,
		.grid_size_y = 1,
		.grid_size_z = 1,
		.private_segment_size = rt->hsa.private_bytes,
		.group_segment_size = PLAN_LDS_BYTES,
		.kernel_object = rt->hsa.kernel_object,
		.kernarg_address =
			rt->hsa.kernargs + (size_t)(op - rt->plan->ops) * rt->hsa.kernarg_stride,
		.completion_signal = done,
	};

	return publish(rt, &packet);
}

/* Take the next unused link signal of the request, with value 1. */
static hsa_signal_t next_link(struct rt *rt)
{
	hsa_signal_t link = rt->hsa.links[rt->hsa.links_used++];

	hsa_signal_store_relaxed(link, 1);
	return link;
}

void hsa_copy(struct rt *rt, enum plan_kind kind, uint64_t bytes, const hsa_signal_t *after,
	      hsa_signal_t done)
{
	bool from_host = kind == PLAN_H2D, to_host = kind == PLAN_D2H;
	const void *from = from_host ? rt->hsa.host_buffer : rt->hsa.device_buffer[0];
	void *to = to_host ? rt->hsa.host_buffer : rt->hsa.device_buffer[kind == PLAN_D2D];
	hsa_status_t status = hsa_amd_memory_async_copy(to, to_host ? rt->hsa.cpu : rt->hsa.gpu,
							from, from_host ? rt->hsa.cpu : rt->hsa.gpu,
							bytes, after ? 1 : 0, after, done);

	if (status != HSA_STATUS_SUCCESS)
		fail(EXIT_FAILURE, "a copy of %" PRIu64 " bytes was refused: %.*s", bytes,
		     hsa_name_length(status), hsa_name(status));
}

void hsa_request_begin(struct rt *rt, const struct plan_request *request)
{
	rt->request = request;
	rt->submitted = 0;
	rt->hsa.links_used = 0;
	rt->hsa.linked = false;
	rt->hsa.after_copy = false;
	rt->ended = false;
	hsa_signal_store_relaxed(rt->hsa.done, 1);
}

/* A copy after kernels waits for the link signal of the last kernel; a copy after a copy, for that
 * of the copy. */
static void submit_copy(struct rt *rt, const struct plan_op *op, bool last, struct rt_mark *mark)
{
	hsa_signal_t done = last ? rt->hsa.done : next_link(rt);

	hsa_copy(rt, op->kind, op->bytes, rt->hsa.linked ? &rt->hsa.last_link : NULL, done);
	mark->signal = done;
	rt->hsa.last_link = done;
	rt->hsa.linked = true;
	rt->hsa.after_copy = true;
}

/* A kernel releases its writes to system scope if the host or a copy engine reads next, that is if
 * it is the last operation or the next one is a copy. Otherwise agent scope is enough. */
static void submit_kernel(struct rt *rt, const struct plan_op *op, bool last, struct rt_mark *mark)
{
	bool before_copy = !last && op[1].kind != PLAN_SPIN;
	hsa_signal_t done = {0};

	if (rt->hsa.after_copy)
		publish_barrier(rt, HSA_FENCE_SCOPE_AGENT, &rt->hsa.last_link, done);
	if (last)
		done = rt->hsa.done;
	else if (before_copy)
		done = next_link(rt);
	mark->packet = publish_dispatch(
		rt, op, last || before_copy ? HSA_FENCE_SCOPE_SYSTEM : HSA_FENCE_SCOPE_AGENT, done);
	rt->hsa.last_link = done;
	rt->hsa.linked = before_copy;
	rt->hsa.after_copy = false;
}

bool hsa_submit(struct rt *rt)
{
	const struct plan_op *op = &rt->plan->ops[rt->request->first + rt->submitted];
	bool last = rt->submitted + 1 == rt->request->count;
	struct rt_mark *mark = &rt->hsa.marks[rt->submitted];

	check_queue(rt);
	*mark = (struct rt_mark){0};
	if (op->kind != PLAN_SPIN)
		submit_copy(rt, op, last, mark);
	else if (ring_full(rt))
		return false;
	else
		submit_kernel(rt, op, last, mark);
	rt->submitted++;
	rt->ended = last;
	return true;
}

bool hsa_request_end(struct rt *rt)
{
	if (rt->ended)
		return true;
	check_queue(rt);
	if (ring_full(rt))
		return false;
	publish_barrier(rt, HSA_FENCE_SCOPE_SYSTEM, rt->hsa.after_copy ? &rt->hsa.last_link : NULL,
			rt->hsa.done);
	rt->ended = true;
	return true;
}

bool hsa_wait(struct rt *rt, uint64_t timeout_ns)
{
	uint64_t ticks = (uint64_t)((double)timeout_ns * (double)rt->hsa.clock_hz / 1e9);
	hsa_signal_value_t value = hsa_signal_wait_scacquire(rt->hsa.done, HSA_SIGNAL_CONDITION_LT,
							     1, ticks, HSA_WAIT_STATE_BLOCKED);

	if (value < 0)
		fail(EXIT_FAILURE, "the runtime reports a failed operation");
	if (value)
		check_queue(rt);
	return value == 0;
}

double hsa_finished_share(const struct rt *rt)
{
	const struct plan_op *ops = &rt->plan->ops[rt->request->first];
	uint64_t read = hsa_queue_load_read_index_scacquire(rt->hsa.queue), finished = 0;

	for (size_t i = 0; i < rt->submitted; i++) {
		const struct rt_mark *mark = &rt->hsa.marks[i];

		if (mark->signal.handle ? hsa_signal_load_relaxed(mark->signal) != 0
					: mark->packet >= read)
			break;
		finished += ops[i].duration_ns;
	}
	return rt->request->duration_ns ? (double)finished / (double)rt->request->duration_ns : 0;
}
