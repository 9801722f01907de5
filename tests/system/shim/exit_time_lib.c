// SPDX-License-Identifier: MIT
/* A library that does not depend on the HSA runtime and whose destructor uses it: it rings a
 * doorbell and destroys its queue. It calls by symbol, so that a library that wraps these functions
 * sees the calls. */
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hsa_agent_t gpu;
static hsa_queue_t *queue;
static struct {
	void (*store)(hsa_signal_t signal, hsa_signal_value_t value);
	uint64_t (*add)(const hsa_queue_t *queue, uint64_t value);
	hsa_status_t (*destroy)(hsa_queue_t *queue);
	hsa_status_t (*info)(hsa_agent_t agent, hsa_agent_info_t attribute, void *value);
} call;

void begin(void *runtime);

/* Finds the symbol as the linker would, so the one of a preloaded library first. */
static void *symbol(const char *name)
{
	void *at = dlsym(RTLD_DEFAULT, name);

	if (at)
		return at;
	fprintf(stderr, "destroyer: no %s\n", name);
	exit(3);
}

static hsa_status_t find_gpu(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	(void)data;
	if (call.info(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS ||
	    type != HSA_DEVICE_TYPE_GPU)
		return HSA_STATUS_SUCCESS;
	gpu = agent;
	return HSA_STATUS_INFO_BREAK;
}

static void ring(void)
{
	uint64_t at = call.add(queue, 1);
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)queue->base_address + at % queue->size;

	memset((char *)packet + 2, 0, sizeof(*packet) - 2);
	__atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE,
			 __ATOMIC_RELEASE);
	call.store(queue->doorbell_signal, (hsa_signal_value_t)at);
}

void begin(void *runtime)
{
	hsa_status_t (*init)(void);
	hsa_status_t (*agents)(hsa_status_t(*each)(hsa_agent_t, void *), void *);
	hsa_status_t (*create)(hsa_agent_t, uint32_t, hsa_queue_type32_t,
			       void (*)(hsa_status_t, hsa_queue_t *, void *), void *, uint32_t,
			       uint32_t, hsa_queue_t **);

	(void)runtime;
	*(void **)&call.store = symbol("hsa_signal_store_screlease");
	*(void **)&call.add = symbol("hsa_queue_add_write_index_screlease");
	*(void **)&call.destroy = symbol("hsa_queue_destroy");
	*(void **)&call.info = symbol("hsa_agent_get_info");
	*(void **)&init = symbol("hsa_init");
	*(void **)&agents = symbol("hsa_iterate_agents");
	*(void **)&create = symbol("hsa_queue_create");
	if (init() != HSA_STATUS_SUCCESS)
		exit(3);
	agents(find_gpu, NULL);
	if (create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue) !=
	    HSA_STATUS_SUCCESS)
		exit(3);
	ring();
}

__attribute__((destructor)) static void end(void)
{
	char line[64];
	int n;

	if (!queue)
		return;
	/* If the runtime was shut down before this destructor, its queues are gone, and it returns
	 * an error itself. */
	if (call.info(gpu, HSA_AGENT_INFO_DEVICE, line) == HSA_STATUS_SUCCESS)
		ring();
	n = snprintf(line, sizeof(line), "destroyed %#x\n", (unsigned)call.destroy(queue));
	(void)!write(STDOUT_FILENO, line, (size_t)n);
}
