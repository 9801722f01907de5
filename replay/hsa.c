// SPDX-License-Identifier: MIT
// Device, memory, code object, queue: what is there before the first request.
#include "replay/hsa.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/code_objects.h"

#define RING_PACKETS 16384u /* what HIP asks for */
#define CELLS_BYTES_MAX (1ull << 32)

__attribute__((format(printf, 3, 4))) static int fail(struct rt *rt, int code, const char *format,
						      ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(rt->why, sizeof(rt->why), format, arguments);
	va_end(arguments);
	return code;
}

/* 0, or -EIO with the runtime's own word for what went wrong. */
static int check(struct rt *rt, hsa_status_t status, const char *what)
{
	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return 0;
	return fail(rt, -EIO, "%s failed: %.*s", what, rt_status_length(status),
		    rt_status_name(status));
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
		search->rt->cpu = agent;
	} else if (type == HSA_DEVICE_TYPE_GPU && search->gpus++ == search->device) {
		search->rt->gpu = agent;
	}
	return HSA_STATUS_SUCCESS;
}

/* "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" -> "gfx90a" */
static int read_gpu_name(struct rt *rt)
{
	char name[256] = "";
	uint32_t length = 0;
	hsa_isa_t isa;
	char *cpu;
	int rc;

	if ((rc = check(rt, hsa_agent_get_info(rt->gpu, HSA_AGENT_INFO_ISA, &isa), "ISA query")) ||
	    (rc = check(rt, hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length),
			"ISA query")))
		return rc;
	if (length >= sizeof(name))
		return fail(rt, -EIO, "the GPU's ISA name is %u bytes long", length);
	rc = check(rt, hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name), "ISA query");
	if (rc)
		return rc;
	cpu = strstr(name, "--");
	cpu = cpu ? cpu + 2 : name;
	cpu[strcspn(cpu, ":")] = 0;
	snprintf(rt->gpu_name, sizeof(rt->gpu_name), "%.*s", (int)sizeof(rt->gpu_name) - 1, cpu);
	return 0;
}

struct pool_search {
	hsa_amd_memory_pool_t *fine, *coarse, *kernarg; /* NULL: not wanted */
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

static int find_pools(struct rt *rt)
{
	struct pool_search host = {.fine = &rt->host_pool, .kernarg = &rt->kernarg_pool};
	struct pool_search device = {.coarse = &rt->device_pool};
	int rc;

	if ((rc = check(rt, hsa_amd_agent_iterate_memory_pools(rt->cpu, on_pool, &host),
			"memory pool query")) ||
	    (rc = check(rt, hsa_amd_agent_iterate_memory_pools(rt->gpu, on_pool, &device),
			"memory pool query")))
		return rc;
	if (!rt->host_pool.handle || !rt->kernarg_pool.handle || !rt->device_pool.handle)
		return fail(rt, -EIO,
			    "the runtime shows no fine-grained host memory, no kernarg "
			    "memory or no device memory");
	return 0;
}

int rt_open(struct rt *rt, unsigned device)
{
	struct agent_search search = {.device = device, .rt = rt};
	hsa_status_t status;
	int rc;

	*rt = (struct rt){0};
	status = hsa_init();
	if (status != HSA_STATUS_SUCCESS) {
		check(rt, status, "hsa_init");
		snprintf(rt->why + strlen(rt->why), sizeof(rt->why) - strlen(rt->why),
			 "; is there a /dev/kfd, and may you open it?");
		return -ENODEV;
	}
	rt->opened = true;
	rc = check(rt, hsa_iterate_agents(on_agent, &search), "agent query");
	if (rc)
		return rc;
	if (search.gpus == 0)
		return fail(rt, -ENODEV, "the HSA runtime shows no GPU");
	if (device >= search.gpus)
		return fail(rt, -ERANGE, "no device %u: there %s %u GPU%s, counted from 0", device,
			    search.gpus == 1 ? "is" : "are", search.gpus,
			    search.gpus == 1 ? "" : "s");
	if (!search.have_cpu)
		return fail(rt, -EIO, "the HSA runtime shows no CPU agent");
	if ((rc = read_gpu_name(rt)))
		return rc;
	if (!code_object_find(rt->gpu_name))
		return fail(rt, -ENODEV, "no code object for %s in this build: there are %s",
			    rt->gpu_name, code_object_list());
	if ((rc = check(rt,
			hsa_agent_get_info(rt->gpu,
					   (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT,
					   &rt->compute_units),
			"compute unit query")) ||
	    (rc = check(rt, hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &rt->clock_hz),
			"clock query")))
		return rc;
	return find_pools(rt);
}

static int load_kernel(struct rt *rt)
{
	const struct code_object *object = code_object_find(rt->gpu_name);
	hsa_executable_symbol_t symbol;
	hsa_status_t s;
	int rc;

	s = hsa_code_object_reader_create_from_memory(object->data, object->bytes, &rt->reader);
	if ((rc = check(rt, s, "reading the code object")))
		return rc;
	s = hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
				      NULL, &rt->executable);
	if ((rc = check(rt, s, "creating an executable")))
		return rc;
	s = hsa_executable_load_agent_code_object(rt->executable, rt->gpu, rt->reader, NULL, NULL);
	if ((rc = check(rt, s, "loading the code object")))
		return rc;
	if ((rc = check(rt, hsa_executable_freeze(rt->executable, NULL), "freezing it")))
		return rc;
	s = hsa_executable_get_symbol_by_name(rt->executable, "kfdreplay_spin.kd", &rt->gpu,
					      &symbol);
	if ((rc = check(rt, s, "finding the kernel")) ||
	    (rc = check(rt,
			hsa_executable_symbol_get_info(symbol,
						       HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
						       &rt->kernel_object),
			"kernel query")) ||
	    (rc = check(rt,
			hsa_executable_symbol_get_info(
				symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
				&rt->kernarg_bytes),
			"kernel query")) ||
	    (rc = check(rt,
			hsa_executable_symbol_get_info(
				symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
				&rt->private_bytes),
			"kernel query")))
		return rc;
	if (rt->kernarg_bytes < sizeof(uint64_t) * 2)
		return fail(rt, -EIO, "the kernel takes %u bytes of arguments, not 16",
			    rt->kernarg_bytes);
	return 0;
}

static void on_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	struct rt *rt = data;

	(void)queue;
	__atomic_store_n(&rt->queue_status, status, __ATOMIC_RELEASE);
}

static int make_queue(struct rt *rt)
{
	uint32_t size = 0;
	int rc = check(rt, hsa_agent_get_info(rt->gpu, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &size),
		       "queue size query");

	if (rc)
		return rc;
	if (size > RING_PACKETS)
		size = RING_PACKETS;
	return check(rt,
		     hsa_queue_create(rt->gpu, size, HSA_QUEUE_TYPE_SINGLE, on_queue_error, rt,
				      rt->private_bytes, PLAN_LDS_BYTES, &rt->queue),
		     "creating a queue");
}

static int allocate(struct rt *rt, hsa_amd_memory_pool_t pool, size_t bytes, const char *what,
		    void **out)
{
	char text[96];
	int rc;

	snprintf(text, sizeof(text), "allocating %zu bytes of %s", bytes, what);
	rc = check(rt, hsa_amd_memory_pool_allocate(pool, bytes, 0, out), text);
	if (rc)
		return rc;
	return check(rt, hsa_amd_agents_allow_access(1, &rt->gpu, NULL, *out), "mapping memory");
}

static int make_kernargs(struct rt *rt, const struct plan *plan)
{
	void *memory;
	int rc;

	rt->kernarg_stride = (rt->kernarg_bytes + 63u) & ~(size_t)63u;
	rc = allocate(rt, rt->kernarg_pool, plan->op_count * rt->kernarg_stride, "kernel arguments",
		      &memory);
	if (rc)
		return rc;
	rt->kernargs = memory;
	memset(rt->kernargs, 0, plan->op_count * rt->kernarg_stride);
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_op *op = &plan->ops[i];
		struct {
			uint64_t ticks;
			uint32_t *cells;
		} arguments = {op->ticks, rt->cells ? rt->cells + op->cell : NULL};

		if (op->kind == PLAN_SPIN)
			memcpy(rt->kernargs + i * rt->kernarg_stride, &arguments,
			       sizeof(arguments));
	}
	return 0;
}

static int make_cells(struct rt *rt, const struct plan *plan)
{
	size_t bytes = (plan->max_cells ? plan->max_cells : 1) * sizeof(*rt->cells);
	void *memory;
	int rc;

	if (bytes > CELLS_BYTES_MAX)
		return fail(rt, -E2BIG, "--count would need %zu MiB of cells for one request",
			    bytes >> 20);
	rc = allocate(rt, rt->host_pool, bytes, "cells", &memory);
	if (rc)
		return rc;
	rt->cells = memory;
	memset(rt->cells, 0, bytes);
	return 0;
}

static int make_signals(struct rt *rt, const struct plan *plan)
{
	size_t most = 0;
	int rc = check(rt, hsa_signal_create(0, 0, NULL, &rt->done), "creating a signal");

	for (size_t i = 0; i < plan->request_count; i++) {
		const struct plan_request *request = &plan->requests[i];
		size_t copies = 0;

		for (size_t k = 0; k < request->count; k++)
			copies += plan->ops[request->first + k].kind != PLAN_SPIN;
		if (copies > most)
			most = copies;
	}
	/* one that a copy waits for and one that it completes */
	rt->links = calloc(most * 2 + 1, sizeof(*rt->links));
	rt->marks = calloc(plan->max_ops, sizeof(*rt->marks));
	if (!rt->links || !rt->marks)
		return fail(rt, -ENOMEM, "out of memory");
	for (; rc == 0 && rt->link_count < most * 2; rt->link_count += rc == 0)
		rc = check(rt,
			   hsa_amd_signal_create(0, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY,
						 &rt->links[rt->link_count]),
			   "creating a signal");
	return rc;
}

/* The runtime makes its copy queues at the first copy of a kind; a queue made
 * in the middle of a measurement would stop every queue of the GPU for a time. */
static int copy_once(struct rt *rt, enum plan_kind kind)
{
	hsa_signal_value_t value;
	int rc;

	hsa_signal_store_relaxed(rt->done, 1);
	rc = rt_copy(rt, kind, 4, NULL, rt->done);
	if (rc)
		return rc;
	value = hsa_signal_wait_scacquire(rt->done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
					  HSA_WAIT_STATE_BLOCKED);
	return value == 0 ? 0 : fail(rt, -EIO, "a first copy failed");
}

static int make_buffers(struct rt *rt, const struct plan *plan)
{
	size_t bytes = plan->max_bytes < 4096 ? 4096 : plan->max_bytes;
	int rc = 0;

	if (!plan->uses[PLAN_H2D] && !plan->uses[PLAN_D2H] && !plan->uses[PLAN_D2D])
		return 0;
	if ((rc = allocate(rt, rt->host_pool, bytes, "host memory", &rt->host_buffer)) ||
	    (rc = allocate(rt, rt->device_pool, bytes, "device memory", &rt->device_buffer[0])) ||
	    (rc = allocate(rt, rt->device_pool, bytes, "device memory", &rt->device_buffer[1])))
		return rc;
	memset(rt->host_buffer, 0, bytes);
	for (enum plan_kind kind = PLAN_H2D; rc == 0 && kind <= PLAN_D2D; kind++)
		if (plan->uses[kind])
			rc = copy_once(rt, kind);
	return rc;
}

int rt_prepare(struct rt *rt, const struct plan *plan, bool count)
{
	int rc;

	rt->plan = plan;
	if ((rc = load_kernel(rt)) || (rc = make_queue(rt)) || (rc = make_signals(rt, plan)) ||
	    (count && (rc = make_cells(rt, plan))) || (rc = make_kernargs(rt, plan)))
		return rc;
	return make_buffers(rt, plan);
}

void rt_stop_queue(struct rt *rt)
{
	if (rt->queue)
		hsa_queue_destroy(rt->queue);
	rt->queue = NULL;
	rt->given_up = true;
}

void rt_close(struct rt *rt)
{
	void *memory[] = {rt->kernargs, rt->cells, rt->host_buffer, rt->device_buffer[0],
			  rt->device_buffer[1]};

	/* A copy that waits for a kernel that never ends still reads its signal:
	 * then the driver cleans up, at exit, when its queue is gone as well. */
	if (rt->opened && !rt->given_up) {
		if (rt->queue)
			hsa_queue_destroy(rt->queue);
		for (size_t i = 0; i < rt->link_count; i++)
			hsa_signal_destroy(rt->links[i]);
		if (rt->done.handle)
			hsa_signal_destroy(rt->done);
		for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
			if (memory[i])
				hsa_amd_memory_pool_free(memory[i]);
		if (rt->executable.handle)
			hsa_executable_destroy(rt->executable);
		if (rt->reader.handle)
			hsa_code_object_reader_destroy(rt->reader);
		hsa_shut_down();
	}
	free(rt->links);
	free(rt->marks);
	*rt = (struct rt){0};
}
