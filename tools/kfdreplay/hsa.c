// SPDX-License-Identifier: MIT
// Implements struct rt_api by the HSA runtime: device, memory, code object and queue, then packets,
// copies, and the wait for the end of a request.
#include "tools/kfdreplay/rt.h"

#include <inttypes.h>
#include <string.h>

#include "tools/kernels/code_objects.h"

#define RING_PACKETS 16384u /* size of the queue, the same as HIP's */
#define PACKETS_PER_OP 2u   /* a barrier and a dispatch */

/* Returns the runtime's text for a status, "NAME: a sentence or two". hsa_name_length() returns the
 * length of NAME. */
static const char *hsa_name(hsa_status_t status)
{
	const char *text = NULL;

	if (hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || !text)
		return "an unknown HSA status";
	return text;
}

static int hsa_name_length(hsa_status_t status)
{
	return (int)strcspn(hsa_name(status), ":");
}

static void check(hsa_status_t status, const char *what)
{
	if (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK)
		fail(EXIT_FAILURE, "%s failed: %.*s", what, hsa_name_length(status),
		     hsa_name(status));
}

struct agent_search {
	unsigned device, gpus;
	bool have_cpu;
	struct rt *rt;
};

static hsa_status_t on_agent(hsa_agent_t agent, void *data)
{
	struct agent_search *search = data;
	hsa_device_type_t type;
	hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);

	if (status != HSA_STATUS_SUCCESS)
		return status;
	if (type == HSA_DEVICE_TYPE_CPU && !search->have_cpu) {
		search->have_cpu = true;
		search->rt->hsa.cpu = agent;
	} else if (type == HSA_DEVICE_TYPE_GPU && search->gpus++ == search->device) {
		search->rt->hsa.gpu = agent;
	}
	return HSA_STATUS_SUCCESS;
}

/* Extracts the processor name from the ISA name: "gfx90a" from
 * "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-". */
static void read_gpu_name(struct rt *rt)
{
	char name[256] = "";
	uint32_t length = 0;
	hsa_isa_t isa;
	char *cpu;

	check(hsa_agent_get_info(rt->hsa.gpu, HSA_AGENT_INFO_ISA, &isa), "ISA query");
	check(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length), "ISA query");
	if (length >= sizeof(name))
		fail(EXIT_FAILURE, "the GPU's ISA name is %u bytes long", length);
	check(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name), "ISA query");
	cpu = strstr(name, "--");
	cpu = cpu ? cpu + 2 : name;
	cpu[strcspn(cpu, ":")] = 0;
	snprintf(rt->gpu_name, sizeof(rt->gpu_name), "%.*s", (int)sizeof(rt->gpu_name) - 1, cpu);
}

struct pool_search {
	hsa_amd_memory_pool_t *fine, *coarse, *kernarg; /* results; NULL: not needed */
};

static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct pool_search *search = data;
	hsa_amd_segment_t segment;
	uint32_t flags = 0;
	hsa_status_t status =
		hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);

	if (status == HSA_STATUS_SUCCESS && segment == HSA_AMD_SEGMENT_GLOBAL)
		status = hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
						      &flags);
	if (status != HSA_STATUS_SUCCESS || segment != HSA_AMD_SEGMENT_GLOBAL)
		return status;
	if (search->kernarg && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT))
		*search->kernarg = pool;
	if (search->fine && !search->fine->handle &&
	    (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED))
		*search->fine = pool;
	if (search->coarse && !search->coarse->handle &&
	    (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED))
		*search->coarse = pool;
	return HSA_STATUS_SUCCESS;
}

static void find_pools(struct rt *rt)
{
	struct pool_search host = {.fine = &rt->hsa.host_pool, .kernarg = &rt->hsa.kernarg_pool};
	struct pool_search device = {.coarse = &rt->hsa.device_pool};

	check(hsa_amd_agent_iterate_memory_pools(rt->hsa.cpu, on_pool, &host), "memory pool query");
	check(hsa_amd_agent_iterate_memory_pools(rt->hsa.gpu, on_pool, &device),
	      "memory pool query");
	if (!rt->hsa.host_pool.handle || !rt->hsa.kernarg_pool.handle ||
	    !rt->hsa.device_pool.handle)
		fail(EXIT_FAILURE, "the runtime shows no fine-grained host memory, no kernarg "
				   "memory or no device memory");
}

static void open_by_hsa(struct rt *rt, unsigned device)
{
	struct agent_search search = {.device = device, .rt = rt};
	hsa_status_t status;
	char list[64];

	*rt = (struct rt){.api = &rt_by_hsa};
	status = hsa_init();
	if (status != HSA_STATUS_SUCCESS)
		fail(EXIT_NOT_HERE,
		     "hsa_init failed: %.*s; check that /dev/kfd exists and can be opened",
		     hsa_name_length(status), hsa_name(status));
	check(hsa_iterate_agents(on_agent, &search), "agent query");
	if (search.gpus == 0)
		fail(EXIT_NOT_HERE, "the HSA runtime shows no GPU");
	rt_check_device(device, search.gpus);
	if (!search.have_cpu)
		fail(EXIT_FAILURE, "the HSA runtime shows no CPU agent");
	read_gpu_name(rt);
	if (!code_object_find(rt->gpu_name))
		fail(EXIT_NOT_HERE, "no code object for %s in this build: there are %s",
		     rt->gpu_name, code_object_list(list, sizeof(list)));
	check(hsa_agent_get_info(rt->hsa.gpu,
				 (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT,
				 &rt->compute_units),
	      "compute unit query");
	check(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &rt->hsa.clock_hz),
	      "clock query");
	find_pools(rt);
}

static void kernel_query(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what,
			 void *out)
{
	check(hsa_executable_symbol_get_info(symbol, what, out), "kernel query");
}

static void load_kernel(struct rt *rt)
{
	const struct code_object *object = code_object_find(rt->gpu_name);
	hsa_executable_symbol_t symbol;

	check(hsa_code_object_reader_create_from_memory(
		      object->data, (size_t)(object->end - object->data), &rt->hsa.reader),
	      "reading the code object");
	check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
					NULL, &rt->hsa.executable),
	      "creating an executable");
	check(hsa_executable_load_agent_code_object(rt->hsa.executable, rt->hsa.gpu, rt->hsa.reader,
						    NULL, NULL),
	      "loading the code object");
	check(hsa_executable_freeze(rt->hsa.executable, NULL), "freezing it");
	check(hsa_executable_get_symbol_by_name(rt->hsa.executable, "kfdreplay_spin.kd",
						&rt->hsa.gpu, &symbol),
	      "finding the kernel");
	kernel_query(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &rt->hsa.kernel_object);
	kernel_query(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
		     &rt->hsa.kernarg_bytes);
	kernel_query(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
		     &rt->hsa.private_bytes);
	if (rt->hsa.kernarg_bytes < sizeof(uint64_t) * 2)
		fail(EXIT_FAILURE, "the kernel takes %u bytes of arguments, not 16",
		     rt->hsa.kernarg_bytes);
}

static void on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	struct rt *rt = data;

	(void)queue;
	__atomic_store_n(&rt->hsa.queue_status, status, __ATOMIC_RELEASE);
}

static void make_queue(struct rt *rt)
{
	uint32_t size = 0;

	check(hsa_agent_get_info(rt->hsa.gpu, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &size),
	      "queue size query");
	if (size > RING_PACKETS)
		size = RING_PACKETS;
	check(hsa_queue_create(rt->hsa.gpu, size, HSA_QUEUE_TYPE_SINGLE, on_queue_error, rt,
			       rt->hsa.private_bytes, PLAN_LDS_BYTES, &rt->hsa.queue),
	      "creating a queue");
}

static void *allocate(struct rt *rt, hsa_amd_memory_pool_t pool, size_t bytes, const char *what)
{
	char text[96];
	void *memory;

	snprintf(text, sizeof(text), "allocating %zu bytes of %s", bytes, what);
	check(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory), text);
	check(hsa_amd_agents_allow_access(1, &rt->hsa.gpu, NULL, memory), "mapping memory");
	return memory;
}

static void make_kernargs(struct rt *rt, const struct plan *plan)
{
	rt->hsa.kernarg_stride = (rt->hsa.kernarg_bytes + 63u) & ~(size_t)63u;
	rt->hsa.kernargs = allocate(rt, rt->hsa.kernarg_pool,
				    plan->op_count * rt->hsa.kernarg_stride, "kernel arguments");
	memset(rt->hsa.kernargs, 0, plan->op_count * rt->hsa.kernarg_stride);
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_op *op = &plan->ops[i];
		struct {
			uint64_t ticks;
			uint32_t *cells;
		} arguments = {op->ticks, rt->cells ? rt->cells + op->cell : NULL};

		if (op->kind == PLAN_SPIN)
			memcpy(rt->hsa.kernargs + i * rt->hsa.kernarg_stride, &arguments,
			       sizeof(arguments));
	}
}

static void make_cells(struct rt *rt, const struct plan *plan)
{
	size_t bytes = rt_cells_bytes(plan);

	rt->cells = allocate(rt, rt->hsa.host_pool, bytes, "cells");
	memset(rt->cells, 0, bytes);
}

static void make_signals(struct rt *rt, const struct plan *plan)
{
	size_t most = 0;

	check(hsa_signal_create(0, 0, NULL, &rt->hsa.done), "creating a signal");
	for (size_t i = 0; i < plan->request_count; i++) {
		const struct plan_request *request = &plan->requests[i];
		size_t copies = 0;

		for (size_t k = 0; k < request->count; k++)
			copies += plan->ops[request->first + k].kind != PLAN_SPIN;
		if (copies > most)
			most = copies;
	}
	/* Each copy needs two links at most: one to wait for and one that it completes. */
	rt->hsa.links = calloc(most * 2 + 1, sizeof(*rt->hsa.links));
	rt->hsa.marks = calloc(plan->max_ops, sizeof(*rt->hsa.marks));
	if (!rt->hsa.links || !rt->hsa.marks)
		fail(EXIT_FAILURE, "out of memory");
	for (; rt->hsa.link_count < most * 2; rt->hsa.link_count++)
		check(hsa_amd_signal_create(0, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY,
					    &rt->hsa.links[rt->hsa.link_count]),
		      "creating a signal");
}

/* Starts one copy. kind: PLAN_H2D, PLAN_D2H or PLAN_D2D. after: signal to wait for; NULL: none.
 * done: set to 1 by the caller, becomes 0 when the copy is complete. */
static void hsa_copy(struct rt *rt, enum plan_kind kind, uint64_t bytes, const hsa_signal_t *after,
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

/* Does one small copy of a kind before the measurement. The runtime creates its copy queues at the
 * first copy of a kind, and a queue created during the measurement would stop all queues of the GPU
 * for some time. */
static void copy_once(struct rt *rt, enum plan_kind kind)
{
	hsa_signal_store_relaxed(rt->hsa.done, 1);
	hsa_copy(rt, kind, 4, NULL, rt->hsa.done);
	if (hsa_signal_wait_scacquire(rt->hsa.done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				      HSA_WAIT_STATE_BLOCKED))
		fail(EXIT_FAILURE, "a first copy failed");
}

static void make_buffers(struct rt *rt, const struct plan *plan)
{
	size_t bytes = plan->max_bytes < 4096 ? 4096 : plan->max_bytes;

	if (!plan->uses[PLAN_H2D] && !plan->uses[PLAN_D2H] && !plan->uses[PLAN_D2D])
		return;
	rt->hsa.host_buffer = allocate(rt, rt->hsa.host_pool, bytes, "host memory");
	for (unsigned i = 0; i < 2; i++)
		rt->hsa.device_buffer[i] =
			allocate(rt, rt->hsa.device_pool, bytes, "device memory");
	memset(rt->hsa.host_buffer, 0, bytes);
	for (enum plan_kind kind = PLAN_H2D; kind <= PLAN_D2D; kind++)
		if (plan->uses[kind])
			copy_once(rt, kind);
}

static void prepare_by_hsa(struct rt *rt, const struct plan *plan, bool count)
{
	rt->plan = plan;
	load_kernel(rt);
	make_queue(rt);
	make_signals(rt, plan);
	if (count)
		make_cells(rt, plan);
	make_kernargs(rt, plan);
	make_buffers(rt, plan);
}

static void stop_queue_by_hsa(struct rt *rt)
{
	if (rt->hsa.queue)
		hsa_queue_destroy(rt->hsa.queue);
	rt->hsa.queue = NULL;
	rt->given_up = true;
}

static void close_by_hsa(struct rt *rt)
{
	void *memory[] = {rt->hsa.kernargs, rt->cells, rt->hsa.host_buffer,
			  rt->hsa.device_buffer[0], rt->hsa.device_buffer[1]};

	/* After stop_queue(), release nothing: a copy may still wait for a kernel that never ends,
	 * and reads its signal. The driver cleans up at exit, together with the copy's queue. */
	if (!rt->given_up) {
		if (rt->hsa.queue)
			hsa_queue_destroy(rt->hsa.queue);
		for (size_t i = 0; i < rt->hsa.link_count; i++)
			hsa_signal_destroy(rt->hsa.links[i]);
		if (rt->hsa.done.handle)
			hsa_signal_destroy(rt->hsa.done);
		for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
			if (memory[i])
				hsa_amd_memory_pool_free(memory[i]);
		if (rt->hsa.executable.handle)
			hsa_executable_destroy(rt->hsa.executable);
		if (rt->hsa.reader.handle)
			hsa_code_object_reader_destroy(rt->hsa.reader);
		hsa_shut_down();
	}
	free(rt->hsa.links);
	free(rt->hsa.marks);
	*rt = (struct rt){0};
}

/* ---- requests ---- */

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

/* Writes a packet and rings the doorbell. The first word is written last, because its header makes
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

/* Sets the next unused link signal of the request to 1 and returns it. */
static hsa_signal_t next_link(struct rt *rt)
{
	hsa_signal_t link = rt->hsa.links[rt->hsa.links_used++];

	hsa_signal_store_relaxed(link, 1);
	return link;
}

static void hsa_request_begin(struct rt *rt, const struct plan_request *request)
{
	rt->request = request;
	rt->submitted = 0;
	rt->hsa.links_used = 0;
	rt->hsa.linked = false;
	rt->hsa.after_copy = false;
	rt->ended = false;
	hsa_signal_store_relaxed(rt->hsa.done, 1);
}

/* Submits a copy, which waits for the link signal of the operation before it, kernel or copy. */
static void submit_copy(struct rt *rt, const struct plan_op *op, bool last, struct rt_mark *mark)
{
	hsa_signal_t done = last ? rt->hsa.done : next_link(rt);

	hsa_copy(rt, op->kind, op->bytes, rt->hsa.linked ? &rt->hsa.last_link : NULL, done);
	mark->signal = done;
	rt->hsa.last_link = done;
	rt->hsa.linked = true;
	rt->hsa.after_copy = true;
}

/* Submits a kernel. Releases its writes to system scope if the host or a copy engine reads next,
 * that is, after the last operation or before a copy. Otherwise agent scope is enough. */
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

static bool hsa_submit(struct rt *rt)
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

static bool hsa_request_end(struct rt *rt)
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

static bool hsa_wait(struct rt *rt, uint64_t timeout_ns)
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

static double hsa_finished_share(const struct rt *rt)
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

const struct rt_api rt_by_hsa = {
	.name = "hsa",
	.open = open_by_hsa,
	.prepare = prepare_by_hsa,
	.close = close_by_hsa,
	.stop_queue = stop_queue_by_hsa,
	.request_begin = hsa_request_begin,
	.submit = hsa_submit,
	.request_end = hsa_request_end,
	.wait = hsa_wait,
	.finished_share = hsa_finished_share,
};
