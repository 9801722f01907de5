// SPDX-License-Identifier: MIT
/*
 * Bursts through the HSA runtime, one for each byte on standard input, answered when the burst is
 * over. Linked into shim_path_linked, and also built as a library that shim_path opens with
 * RTLD_LOCAL, as a framework would. Except for the path "store" its waits poll memory, so that no
 * hook sees an end.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/shim/path_work.h"
#include "tests/system/shim/spin.h"

#define COPY_BYTES 65536u
#define WPTR 56 /* offset in amd_queue_t */
#define VALUE 8 /* offset in amd_signal_t; in a doorbell signal it holds the doorbell's address */

static hsa_agent_t cpu, gpu;
static hsa_amd_memory_pool_t host_pool, vram_pool;
static hsa_queue_t *queue;
static hsa_signal_t done;
static void *from, *to;

static void must(hsa_status_t status, const char *what)
{
	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return;
	fprintf(stderr, "shim_path: %s is %#x\n", what, status);
	exit(1);
}

static hsa_status_t on_agent(hsa_agent_t agent, void *arg)
{
	hsa_device_type_t type;

	(void)arg;
	must(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "agent info");
	if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle)
		cpu = agent;
	if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle)
		gpu = agent;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void *arg)
{
	hsa_amd_memory_pool_t *wanted = arg;
	hsa_amd_segment_t segment;

	must(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment),
	     "pool info");
	if (segment == HSA_AMD_SEGMENT_GLOBAL && !wanted->handle)
		*wanted = pool;
	return HSA_STATUS_SUCCESS;
}

static void begin(void)
{
	must(hsa_init(), "hsa_init");
	must(hsa_iterate_agents(on_agent, NULL), "agents");
	must(hsa_signal_create(1, 0, NULL, &done), "signal");
	must(hsa_queue_create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
			      &queue),
	     "queue");
	must(hsa_amd_agent_iterate_memory_pools(cpu, on_pool, &host_pool), "pools");
	must(hsa_amd_agent_iterate_memory_pools(gpu, on_pool, &vram_pool), "pools");
	must(hsa_amd_memory_pool_allocate(host_pool, COPY_BYTES, 0, &from), "host memory");
	must(hsa_amd_memory_pool_allocate(vram_pool, COPY_BYTES, 0, &to), "memory");
	must(hsa_amd_agents_allow_access(1, &gpu, NULL, from), "access");
	memset(from, 7, COPY_BYTES);
}

static void wait_unseen(void)
{
	const volatile int64_t *value = (const volatile int64_t *)(uintptr_t)(done.handle + VALUE);

	while (__atomic_load_n(value, __ATOMIC_ACQUIRE) > 0)
		sched_yield(); /* the simulator may need this core */
}

static void write_barrier(uint64_t at, hsa_signal_t completion)
{
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)queue->base_address + at % queue->size;

	memset((char *)packet + 2, 0, sizeof(*packet) - 2);
	packet->completion_signal = completion;
	__atomic_store_n(&packet->header,
			 HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
				 1 << HSA_PACKET_HEADER_BARRIER,
			 __ATOMIC_RELEASE);
}

static void write_kernel(uint64_t at)
{
	hsa_kernel_dispatch_packet_t *packet =
		(hsa_kernel_dispatch_packet_t *)queue->base_address + at % queue->size;
	uint16_t header = spin_packet(packet, PATH_KERNEL_MS, done);

	__atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
}

/* Writes packet number `i` of a burst, counted from 1. */
static void write_packet(uint64_t at, unsigned i, const struct path_task *task)
{
	const hsa_signal_t none = {0};

	if (i == task->packets && task->kernel)
		write_kernel(at);
	else
		write_barrier(at, i == task->packets ? done : none);
}

static void by_store(const struct path_task *task)
{
	for (unsigned i = 1; i <= task->packets; i++) {
		uint64_t at = hsa_queue_add_write_index_screlease(queue, 1);

		write_packet(at, i, task);
		hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)at);
	}
	hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_ACTIVE);
}

/* Writes as a code generator does that has looked up the addresses. */
static void by_memory(const struct path_task *task)
{
	volatile uint64_t *doorbell =
		*(volatile uint64_t **)(uintptr_t)(queue->doorbell_signal.handle + VALUE);
	uint64_t *wptr = (uint64_t *)((char *)queue + WPTR);

	for (unsigned i = 1; i <= task->packets; i++) {
		uint64_t at = __atomic_fetch_add(wptr, 1, __ATOMIC_SEQ_CST);

		write_packet(at, i, task);
		__atomic_store_n(doorbell, at, __ATOMIC_RELEASE);
	}
	wait_unseen();
}

static void by_copy(unsigned packets)
{
	must(hsa_amd_memory_async_copy(to, gpu, from, cpu, packets * 4096, 0, NULL, done), "copy");
	wait_unseen();
}

int path_run(const char *path)
{
	struct path_result result = {0};
	struct path_task task;

	begin();
	if (strcmp(path, "copy") != 0)
		spin_load(gpu);
	while (path_next(&result, &task)) {
		hsa_signal_store_relaxed(done, 1);
		if (strcmp(path, "store") == 0)
			by_store(&task);
		else if (strcmp(path, "direct") == 0)
			by_memory(&task);
		else
			by_copy(task.packets);
	}
	return 0;
}
