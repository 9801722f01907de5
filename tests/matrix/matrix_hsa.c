// SPDX-License-Identifier: MIT
/*
 * Proves that the common operations of ROCr work on the first GPU: a queue, barrier packets that
 * wait for signals, a kernel whose work is checked, copies in both directions with checked data, a
 * fill. Argument: the directory of the code objects.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdint.h>
#include <string.h>

#include "tests/matrix/step.h"

#define BYTES (3u << 20)
#define GROUPS 240u
#define GROUP_SIZE 256u
#define KERNEL_US 10u
#define TICKS_PER_US 100 /* of the 100 MHz counter */
#define WAIT_NS 20000000000u

static hsa_agent_t cpu, gpu;
static hsa_amd_memory_pool_t host_pool, vram_pool, kernarg_pool;

static void check(hsa_status_t status, const char *what)
{
	const char *text = "?";

	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return;
	hsa_status_string(status, &text);
	step_fail("%s: %s", what, text);
}
#define CHECK(call) check(call, #call)

static hsa_status_t on_agent(hsa_agent_t agent, void *arg)
{
	hsa_device_type_t type;

	(void)arg;
	CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle)
		cpu = agent;
	if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle)
		gpu = agent;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void *arg)
{
	hsa_amd_segment_t segment;
	uint32_t flags;

	CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
	if (arg) {
		if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED && !vram_pool.handle)
			vram_pool = pool;
	} else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) {
		kernarg_pool = pool;
	} else if (!host_pool.handle) {
		host_pool = pool;
	}
	return HSA_STATUS_SUCCESS;
}

static void *allocate(hsa_amd_memory_pool_t pool, size_t bytes)
{
	void *p = NULL;

	CHECK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &p));
	CHECK(hsa_amd_agents_allow_access(1, &gpu, NULL, p));
	return p;
}

static hsa_signal_t new_signal(hsa_signal_value_t value)
{
	hsa_signal_t signal;

	CHECK(hsa_signal_create(value, 0, NULL, &signal));
	return signal;
}

static void wait_zero(hsa_signal_t signal, const char *what)
{
	uint64_t hz;

	CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz));
	if (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1,
				      hz * (WAIT_NS / 1000000000u), HSA_WAIT_STATE_BLOCKED) > 0)
		step_fail("%s was not done after 20 s", what);
}

static void submit(hsa_queue_t *queue, const void *packet, uint16_t header, uint16_t setup)
{
	uint64_t at = hsa_queue_add_write_index_screlease(queue, 1);
	char *slot = (char *)queue->base_address + at % queue->size * 64;

	memcpy(slot + 4, (const char *)packet + 4, 60);
	__atomic_store_n((uint32_t *)slot, header | (uint32_t)setup << 16, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)at);
}

static uint16_t header_of(hsa_packet_type_t type)
{
	return (uint16_t)(type << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

/* One barrier packet waits for a signal that the host sets, a second one for the completion signal
 * of the first. */
static void barriers(hsa_queue_t *queue)
{
	hsa_signal_t gate = new_signal(1), first = new_signal(1), second = new_signal(1);
	hsa_barrier_and_packet_t packet = {0};

	packet.dep_signal[0] = gate;
	packet.completion_signal = first;
	submit(queue, &packet, header_of(HSA_PACKET_TYPE_BARRIER_AND), 0);
	packet.dep_signal[0] = first;
	packet.completion_signal = second;
	submit(queue, &packet, header_of(HSA_PACKET_TYPE_BARRIER_AND), 0);
	if (hsa_signal_load_scacquire(second) != 1)
		step_fail("a barrier packet did not wait for its signal");
	hsa_signal_store_screlease(gate, 0);
	wait_zero(second, "a barrier packet");
}

static uint64_t load_kernel(const char *directory, uint32_t *kernarg_bytes)
{
	hsa_code_object_reader_t reader;
	hsa_executable_t executable;
	hsa_executable_symbol_t symbol;
	uint64_t object;
	size_t bytes;
	const void *code = step_code_object(directory, &bytes);

	CHECK(hsa_code_object_reader_create_from_memory(code, bytes, &reader));
	CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
					NULL, &executable));
	CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL));
	CHECK(hsa_executable_freeze(executable, NULL));
	CHECK(hsa_executable_get_symbol_by_name(executable, "kfdreplay_spin.kd", &gpu, &symbol));
	CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
					     &object));
	CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, kernarg_bytes));
	return object;
}

static void dispatch(hsa_queue_t *queue, const char *directory)
{
	uint32_t kernarg_bytes, *cells = allocate(host_pool, GROUPS * sizeof(uint32_t));
	hsa_kernel_dispatch_packet_t packet = {0};
	struct {
		uint64_t ticks;
		uint32_t *cells;
	} * args;

	packet.kernel_object = load_kernel(directory, &kernarg_bytes);
	args = allocate(kernarg_pool, kernarg_bytes < 256 ? 256 : kernarg_bytes);
	memset(args, 0, kernarg_bytes);
	memset(cells, 0, GROUPS * sizeof(*cells));
	args->ticks = (uint64_t)step_kernel_us(KERNEL_US) * TICKS_PER_US;
	args->cells = cells;
	packet.workgroup_size_x = GROUP_SIZE;
	packet.workgroup_size_y = packet.workgroup_size_z = 1;
	packet.grid_size_x = GROUPS * GROUP_SIZE;
	packet.grid_size_y = packet.grid_size_z = 1;
	packet.kernarg_address = args;
	packet.completion_signal = new_signal(1);
	submit(queue, &packet, header_of(HSA_PACKET_TYPE_KERNEL_DISPATCH),
	       1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
	wait_zero(packet.completion_signal, "a dispatch");
	for (uint32_t i = 0; i < GROUPS; i++) {
		if (cells[i] != 1)
			step_fail("workgroup %u ran %u times", i, cells[i]);
	}
}

static void copy(void *dst, hsa_agent_t to, const void *src, hsa_agent_t from)
{
	hsa_signal_t done = new_signal(1);

	CHECK(hsa_amd_memory_async_copy(dst, to, src, from, BYTES, 0, NULL, done));
	wait_zero(done, "an asynchronous copy");
	if (hsa_signal_load_scacquire(done) < 0)
		step_fail("an asynchronous copy failed");
}

int main(int argc, char **argv)
{
	hsa_queue_t *queue;
	unsigned char *there, *back, *vram;

	step("init");
	if (argc != 2)
		step_fail("the folder with the code objects is to be the argument");
	CHECK(hsa_init());
	CHECK(hsa_iterate_agents(on_agent, NULL));
	if (!gpu.handle || !cpu.handle)
		step_fail("no GPU or no CPU among the agents");
	CHECK(hsa_amd_agent_iterate_memory_pools(cpu, on_pool, NULL));
	CHECK(hsa_amd_agent_iterate_memory_pools(gpu, on_pool, &gpu));
	step("queue");
	CHECK(hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
			       &queue));
	step("barrier");
	barriers(queue);
	step("dispatch");
	dispatch(queue, argv[1]);
	step("copy");
	there = allocate(host_pool, BYTES);
	back = allocate(host_pool, BYTES);
	vram = allocate(vram_pool, BYTES);
	for (uint32_t i = 0; i < BYTES; i++)
		there[i] = (unsigned char)(i * 7 + i / 4096);
	memset(back, 0, BYTES);
	copy(vram, gpu, there, cpu);
	copy(back, cpu, vram, gpu);
	if (memcmp(there, back, BYTES))
		step_fail("what came back from the GPU is not what went there");
	step("fill");
	CHECK(hsa_amd_memory_fill(vram, 0xa5a5a5a5u, BYTES / 4));
	copy(back, cpu, vram, gpu);
	for (uint32_t i = 0; i < BYTES; i++) {
		if (back[i] != 0xa5)
			step_fail("byte %u is 0x%x after a fill with 0xa5", i, back[i]);
	}
	step("shutdown");
	CHECK(hsa_queue_destroy(queue));
	CHECK(hsa_shut_down());
	return step_end();
}
