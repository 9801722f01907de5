// SPDX-License-Identifier: MIT
/* Proves: copies and fills of the real HSA runtime move the right bytes, in both directions, with
 * odd sizes and addresses, from device to device, with locked host memory, rectangles, and
 * asynchronous copies that wait for each other. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <string.h>

#include "tools/kfdconform/harness/harness.h"

#define OK(call) CHECK_IS(call, HSA_STATUS_SUCCESS)
#define BYTES (12u << 20)

static hsa_agent_t cpu, gpu;
static hsa_amd_memory_pool_t host_pool, device_pool;

static hsa_status_t find_agent(hsa_agent_t agent, void *none)
{
	hsa_device_type_t type;

	(void)none;
	OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_GPU)
		gpu = agent;
	else if (type == HSA_DEVICE_TYPE_CPU)
		cpu = agent;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void *out)
{
	hsa_amd_segment_t segment;
	bool allocatable;

	OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
					&allocatable));
	if (segment != HSA_AMD_SEGMENT_GLOBAL || !allocatable)
		return HSA_STATUS_SUCCESS;
	*(hsa_amd_memory_pool_t *)out = pool;
	return HSA_STATUS_INFO_BREAK;
}

static uint8_t *take(hsa_amd_memory_pool_t pool)
{
	void *at;

	OK(hsa_amd_memory_pool_allocate(pool, BYTES, 0, &at));
	OK(hsa_amd_agents_allow_access(1, pool.handle == host_pool.handle ? &gpu : &cpu, NULL, at));
	return at;
}

static void number(uint8_t *bytes, unsigned seed)
{
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + seed);
}

static void copy(void *dst, hsa_agent_t to, const void *src, hsa_agent_t from, size_t n,
		 unsigned n_dependencies, hsa_signal_t *dependencies, hsa_signal_t done)
{
	OK(hsa_amd_memory_async_copy(dst, to, src, from, n, n_dependencies, dependencies, done));
}

static void finish(hsa_signal_t signal)
{
	CHECK_IS(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
					   HSA_WAIT_STATE_BLOCKED),
		 0);
}

int main(void)
{
	static const struct {
		size_t to, from, n;
	} shapes[] = {{0, 0, BYTES}, {0, 0, 1},	   {1, 1, 4095},
		      {3, 2, 70001}, {256, 0, 64}, {5, 1000, 1 << 20}};
	uint8_t *source, *back, *device, *other;
	hsa_signal_t signals[3];
	void *locked;

	OK(hsa_init());
	OK(hsa_iterate_agents(find_agent, NULL));
	hsa_amd_agent_iterate_memory_pools(cpu, find_pool, &host_pool);
	hsa_amd_agent_iterate_memory_pools(gpu, find_pool, &device_pool);
	source = take(host_pool);
	back = take(host_pool);
	device = take(device_pool);
	other = take(device_pool);
	for (int i = 0; i < 3; i++)
		OK(hsa_signal_create(1, 0, NULL, &signals[i]));

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		number(source, (unsigned)i);
		memset(back, 0, BYTES);
		for (int k = 0; k < 3; k++)
			hsa_signal_store_relaxed(signals[k], 1);
		/* A chain of dependent copies: host -> device -> device -> host. */
		copy(device + shapes[i].to, gpu, source + shapes[i].from, cpu, shapes[i].n, 0, NULL,
		     signals[0]);
		copy(other + shapes[i].from, gpu, device + shapes[i].to, gpu, shapes[i].n, 1,
		     &signals[0], signals[1]);
		copy(back, cpu, other + shapes[i].from, gpu, shapes[i].n, 1, &signals[1],
		     signals[2]);
		finish(signals[2]);
		CHECK(!memcmp(back, source + shapes[i].from, shapes[i].n));
		CHECK(shapes[i].n == BYTES || !back[shapes[i].n]);
	}

	OK(hsa_amd_memory_fill(device, 0xa1b2c3d4, BYTES / 4));
	OK(hsa_memory_copy(back, device, BYTES));
	for (size_t i = 0; i < BYTES / 4; i++)
		CHECK_IS(((uint32_t *)back)[i], 0xa1b2c3d4);

	/* Memory of the program itself. */
	{
		uint8_t *own = malloc(BYTES);

		CHECK(own);
		number(own, 99);
		OK(hsa_amd_memory_lock(own, BYTES, &gpu, 1, &locked));
		hsa_signal_store_relaxed(signals[0], 1);
		copy(device, gpu, locked, cpu, BYTES, 0, NULL, signals[0]);
		finish(signals[0]);
		OK(hsa_amd_memory_unlock(own));
		OK(hsa_memory_copy(back, device, BYTES));
		CHECK(!memcmp(back, own, BYTES));
		number(own, 100);
		/* not locked, so the runtime copies through its staging buffers */
		OK(hsa_memory_copy(device, own, BYTES));
		OK(hsa_memory_copy(back, device, BYTES));
		CHECK(!memcmp(back, own, BYTES));
		free(own);
	}

	/* Copies a window of 100 x 20 x 3 bytes from one box into another. */
	{
		hsa_pitched_ptr_t from = {device, 512, 512 * 64}, to = {other, 256, 256 * 32};
		hsa_dim3_t range = {100, 20, 3}, at = {8, 4, 1}, into = {4, 2, 0};

		number(source, 5);
		OK(hsa_memory_copy(device, source, BYTES));
		OK(hsa_amd_memory_fill(other, 0, BYTES / 4));
		hsa_signal_store_relaxed(signals[0], 1);
		OK(hsa_amd_memory_async_copy_rect(&to, &into, &from, &at, &range, gpu,
						  hsaDeviceToHost, 0, NULL, signals[0]));
		finish(signals[0]);
		OK(hsa_memory_copy(back, other, BYTES));
		for (size_t z = 0; z < 3; z++)
			for (size_t y = 0; y < 20; y++)
				CHECK(!memcmp(back + z * 256 * 32 + (y + 2) * 256 + 4,
					      source + (z + 1) * 512 * 64 + (y + 4) * 512 + 8,
					      100));
		CHECK(!back[2 * 256 + 3] && !back[2 * 256 + 104]);
	}
	for (int i = 0; i < 3; i++)
		OK(hsa_signal_destroy(signals[i]));
	OK(hsa_shut_down());
	return 0;
}
