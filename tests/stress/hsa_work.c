// SPDX-License-Identifier: MIT
/*
 * A short program that uses the real runtime: queues, barriers, and copies whose bytes are checked.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (1u << 20)
#define ROUNDS 20
#define CHECK(call)                                                                                \
	do {                                                                                       \
		hsa_status_t s_ = (call);                                                          \
		if (s_ != HSA_STATUS_SUCCESS) {                                                    \
			fprintf(stderr, "%s:%d: %s is 0x%x\n", __FILE__, __LINE__, #call, s_);     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct place {
	hsa_agent_t cpu, gpu;
	hsa_amd_memory_pool_t host, device;
};

static hsa_status_t see_agent(hsa_agent_t agent, void *arg)
{
	struct place *p = arg;
	hsa_device_type_t type;

	CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU)
		p->cpu = agent;
	else if (!p->gpu.handle)
		p->gpu = agent;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t see_pool(hsa_amd_memory_pool_t pool, void *arg)
{
	hsa_amd_segment_t segment;
	bool allowed = false;

	CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
					   &allowed));
	if (segment == HSA_AMD_SEGMENT_GLOBAL && allowed && !((hsa_amd_memory_pool_t *)arg)->handle)
		*(hsa_amd_memory_pool_t *)arg = pool;
	return HSA_STATUS_SUCCESS;
}

static void wait_for(hsa_signal_t signal)
{
	hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_BLOCKED);
}

static void copy(const struct place *p, void *dst, hsa_agent_t to, void *src, hsa_agent_t from,
		 hsa_signal_t signal)
{
	hsa_signal_store_relaxed(signal, 1);
	CHECK(hsa_amd_memory_async_copy(dst, to, src, from, BYTES, 0, NULL, signal));
	wait_for(signal);
	(void)p;
}

static void barrier(hsa_queue_t *queue, hsa_signal_t signal)
{
	uint64_t at = hsa_queue_add_write_index_relaxed(queue, 1);
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)queue->base_address + at % queue->size;

	memset((char *)packet + 2, 0, sizeof *packet - 2);
	packet->completion_signal = signal;
	hsa_signal_store_relaxed(signal, 1);
	__atomic_store_n(&packet->header,
			 HSA_PACKET_TYPE_BARRIER_AND | 1u << HSA_PACKET_HEADER_BARRIER,
			 __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)at);
	wait_for(signal);
}

int main(void)
{
	unsigned char *in, *out, *device;
	struct place p = {0};
	hsa_signal_t signal;
	hsa_queue_t *queue;

	CHECK(hsa_init());
	CHECK(hsa_iterate_agents(see_agent, &p));
	CHECK(hsa_amd_agent_iterate_memory_pools(p.cpu, see_pool, &p.host));
	CHECK(hsa_amd_agent_iterate_memory_pools(p.gpu, see_pool, &p.device));
	CHECK(hsa_amd_memory_pool_allocate(p.host, BYTES, 0, (void **)&in));
	CHECK(hsa_amd_memory_pool_allocate(p.host, BYTES, 0, (void **)&out));
	CHECK(hsa_amd_memory_pool_allocate(p.device, BYTES, 0, (void **)&device));
	CHECK(hsa_amd_agents_allow_access(1, &p.gpu, NULL, in));
	CHECK(hsa_amd_agents_allow_access(1, &p.gpu, NULL, out));
	CHECK(hsa_signal_create(1, 0, NULL, &signal));
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(hsa_queue_create(p.gpu, 256, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
				       UINT32_MAX, &queue));
		memset(in, round + 1, BYTES);
		memset(out, 0, BYTES);
		copy(&p, device, p.gpu, in, p.cpu, signal);
		for (int i = 0; i < 50; i++)
			barrier(queue, signal);
		copy(&p, out, p.cpu, device, p.gpu, signal);
		if (memcmp(in, out, BYTES)) {
			fprintf(stderr, "round %d: what came back is not what went\n", round);
			return 1;
		}
		CHECK(hsa_queue_destroy(queue));
	}
	CHECK(hsa_signal_destroy(signal));
	CHECK(hsa_shut_down());
	return 0;
}
