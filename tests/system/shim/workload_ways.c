// SPDX-License-Identifier: MIT
#include "tests/system/shim/workload.h"

#include <dlfcn.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/system/shim/spin.h"

#define WPTR 56 /* offset in amd_queue_t */
#define COPY_BYTES 65536u
#define ROW_BYTES 256u
/* offset in amd_signal_t; in a doorbell signal it holds the doorbell's address */
#define SIGNAL_VALUE 8
#define NO_RUNTIME 0x1000 /* result of a wrapper if the runtime has no such function */

typedef uint64_t add_fn(const hsa_queue_t *queue, uint64_t value);
typedef uint64_t cas_fn(const hsa_queue_t *queue, uint64_t expected, uint64_t value);
typedef void store_fn(const hsa_queue_t *queue, uint64_t value);
/* A function that is newer than the headers; its last arguments are an enum and a bool. */
typedef hsa_status_t engine_fn(void *to, hsa_agent_t to_agent, const void *from,
			       hsa_agent_t from_agent, size_t size, uint32_t waits,
			       const hsa_signal_t *wait_for, hsa_signal_t completion,
			       unsigned engine, bool force);

static uint64_t reserved;

static uint64_t by_add(add_fn *add)
{
	return add(queue, 1);
}

static uint64_t by_cas(cas_fn *cas)
{
	uint64_t at = hsa_queue_load_write_index_relaxed(queue);

	return cas(queue, at, at + 1);
}

static uint64_t by_store(store_fn *store)
{
	uint64_t at = hsa_queue_load_write_index_relaxed(queue);

	store(queue, at + 1);
	return at;
}

void way_reserve(int way)
{
	static add_fn *const adds[] = {
		hsa_queue_add_write_index_relaxed,   hsa_queue_add_write_index_scacquire,
		hsa_queue_add_write_index_screlease, hsa_queue_add_write_index_scacq_screl,
		hsa_queue_add_write_index_acquire,   hsa_queue_add_write_index_release,
		hsa_queue_add_write_index_acq_rel,
	};
	static cas_fn *const cases[] = {
		hsa_queue_cas_write_index_relaxed,   hsa_queue_cas_write_index_scacquire,
		hsa_queue_cas_write_index_screlease, hsa_queue_cas_write_index_scacq_screl,
		hsa_queue_cas_write_index_acquire,   hsa_queue_cas_write_index_release,
		hsa_queue_cas_write_index_acq_rel,
	};
	static store_fn *const stores[] = {
		hsa_queue_store_write_index_relaxed,
		hsa_queue_store_write_index_screlease,
		hsa_queue_store_write_index_release,
	};

	_Static_assert(sizeof(adds) + sizeof(cases) + sizeof(stores) == RESERVE_WAYS * 8, "each");
	if (way < 7)
		reserved = by_add(adds[way]);
	else if (way < 14)
		reserved = by_cas(cases[way - 7]);
	else
		reserved = by_store(stores[way - 14]);
	puts("ok");
}

static void *slot(uint64_t index)
{
	return (char *)queue->base_address + index % queue->size * 64;
}

static void write_barrier(uint64_t index)
{
	hsa_barrier_and_packet_t *packet = slot(index);

	hsa_signal_store_relaxed(last, 1);
	memset((char *)packet + 2, 0, sizeof(*packet) - 2);
	packet->completion_signal = last;
	__atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE,
			 __ATOMIC_RELEASE);
}

static void poll_last(int way)
{
	const struct timespec pause = {.tv_nsec = 50000};

	while ((way == 2   ? hsa_signal_load_relaxed
		: way == 3 ? hsa_signal_load_scacquire
			   : hsa_signal_load_acquire)(last) > 0)
		nanosleep(&pause, NULL);
}

static void await(int way)
{
	if (way > 1 && way < 5) {
		poll_last(way);
		return;
	}
	(way == 1   ? hsa_signal_wait_relaxed
	 : way == 5 ? hsa_signal_wait_acquire
		    : hsa_signal_wait_scacquire)(last, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
						 HSA_WAIT_STATE_BLOCKED);
}

void way_publish(int n)
{
	(void)n;
	write_barrier(reserved);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)reserved);
	await(0);
	puts("ok");
}

void way_bell(int way)
{
	uint64_t *wptr = (uint64_t *)(void *)((char *)queue + WPTR);
	uint64_t at = __atomic_load_n(wptr, __ATOMIC_RELAXED);

	write_barrier(at);
	__atomic_store_n(wptr, at + 1, __ATOMIC_SEQ_CST);
	(way == 1   ? hsa_signal_store_relaxed
	 : way == 2 ? hsa_signal_store_release
		    : hsa_signal_store_screlease)(queue->doorbell_signal, (hsa_signal_value_t)at);
	puts("ok");
}

void way_work(int ms)
{
	static bool loaded;
	hsa_kernel_dispatch_packet_t *packet;
	uint16_t header;
	uint64_t at;

	if (!loaded)
		spin_load(gpu);
	loaded = true;
	hsa_signal_store_relaxed(last, 1);
	at = hsa_queue_add_write_index_screlease(queue, 1);
	packet = slot(at);
	header = spin_packet(packet, (unsigned)ms, last);
	__atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)at);
	puts("ok");
}

static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void *data)
{
	hsa_amd_segment_t segment;

	must(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment),
	     "pool info");
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	*(hsa_amd_memory_pool_t *)data = pool;
	return HSA_STATUS_INFO_BREAK;
}

static void *memory(hsa_agent_t agent)
{
	hsa_amd_memory_pool_t pool = {0};
	void *at = NULL;

	hsa_amd_agent_iterate_memory_pools(agent, on_pool, &pool);
	must(hsa_amd_memory_pool_allocate(pool, COPY_BYTES, 0, &at), "memory");
	must(hsa_amd_agents_allow_access(1, &gpu, NULL, at), "access");
	return at;
}

static hsa_status_t find_cpu(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	must(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "agent info");
	if (type != HSA_DEVICE_TYPE_CPU)
		return HSA_STATUS_SUCCESS;
	*(hsa_agent_t *)data = agent;
	return HSA_STATUS_INFO_BREAK;
}

/* PM4: DISPATCH_DIRECT of one workgroup, and EVENT_WRITE of CS_PARTIAL_FLUSH, which makes the next
 * one wait for its end. */
static const uint32_t one_kernel[] = {0xc0031500, 1, 1, 1, 1, 0xc0004600, 7 | 4 << 8};

/* Writes an hsa_amd_aql_pm4_ib: a vendor packet that contains a jump to `words` words of PM4. */
static void write_jump(uint64_t index, const void *code, uint32_t words)
{
	const uint64_t at = (uint64_t)(uintptr_t)code;
	uint32_t *packet = slot(index);

	hsa_signal_store_relaxed(last, 1);
	memset(packet + 1, 0, 60);
	packet[1] = 0xc0023f00;
	packet[2] = (uint32_t)at;
	packet[3] = (uint32_t)(at >> 32);
	packet[4] = words | 1u << 23;
	packet[5] = 10; /* number of remaining words of the packet */
	memcpy(packet + 14, &last.handle, sizeof(last.handle));
	__atomic_store_n(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1u << 16, __ATOMIC_RELEASE);
}

void way_jump(int kernels)
{
	static char *code;
	hsa_agent_t cpu = {0};
	volatile uint64_t *doorbell =
		*(volatile uint64_t **)(uintptr_t)(queue->doorbell_signal.handle + SIGNAL_VALUE);
	uint64_t *wptr = (uint64_t *)(void *)((char *)queue + WPTR);
	uint64_t at = __atomic_load_n(wptr, __ATOMIC_RELAXED);

	if (!code) {
		hsa_iterate_agents(find_cpu, &cpu);
		code = memory(cpu);
	}
	for (int i = 0; i < kernels; i++)
		memcpy(code + (size_t)i * sizeof(one_kernel), one_kernel, sizeof(one_kernel));
	write_jump(at, code, (uint32_t)kernels * sizeof(one_kernel) / 4);
	__atomic_store_n(wptr, at + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(doorbell, at, __ATOMIC_RELEASE);
	puts("ok");
}

static hsa_status_t copy_rect(void *to, const void *from)
{
	const hsa_pitched_ptr_t source = {(void *)(uintptr_t)from, ROW_BYTES, 0};
	const hsa_pitched_ptr_t target = {to, ROW_BYTES, 0};
	const hsa_dim3_t none = {0, 0, 0}, range = {ROW_BYTES / 2, COPY_BYTES / ROW_BYTES, 1};

	return hsa_amd_memory_async_copy_rect(&target, &none, &source, &none, &range, gpu,
					      hsaHostToDevice, 0, NULL, last);
}

void way_copy(int way)
{
	static void *from, *to;
	static hsa_agent_t cpu;
	hsa_status_t status;
	engine_fn *by_engine;

	if (!to) {
		hsa_iterate_agents(find_cpu, &cpu);
		from = memory(cpu);
		to = memory(gpu);
	}
	hsa_signal_store_relaxed(last, 1);
	if (way == 0) {
		status = hsa_amd_memory_async_copy(to, gpu, from, cpu, COPY_BYTES, 0, NULL, last);
	} else if (way == 1) {
		status = copy_rect(to, from);
	} else {
		*(void **)&by_engine = dlsym(RTLD_DEFAULT, "hsa_amd_memory_async_copy_on_engine");
		status = by_engine ? by_engine(to, gpu, from, cpu, COPY_BYTES, 0, NULL, last, 1,
					       false)
				   : NO_RUNTIME;
		if (status == NO_RUNTIME) {
			puts("none");
			return;
		}
	}
	must(status, "copy");
	puts("ok");
}

void way_await(int way)
{
	await(way);
	puts("ok");
}
