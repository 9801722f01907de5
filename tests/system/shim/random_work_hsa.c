// SPDX-License-Identifier: MIT
/*
 * The workload of random_queues by the HSA runtime, which has some more queues of its own.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/system/shim/random_work.h"

#define PACKETS 256u
#define GPUS 8u
#define EVENTS 8u /* ids from 0; the event that the queues share is among the runtime's first */
#define WAKE_US 100000

static hsa_agent_t gpus[GPUS];
static uint32_t gpu_ids[GPUS];
static unsigned gpus_end;
static hsa_queue_t *queues[WORK_THREADS][WORK_QUEUES];

static void check(hsa_status_t status, const char *what)
{
	const char *text = "?";

	if (status == HSA_STATUS_SUCCESS)
		return;
	hsa_status_string(status, &text);
	fprintf(stderr, "%s: %s\n", what, text);
	_Exit(1);
}
#define CHECK(call) check(call, #call)

/* Returns the driver's gpu_id of an agent. */
static uint32_t gpu_id_of(hsa_agent_t agent)
{
	unsigned gpu_id = 0;
	uint32_t node;
	char path[80];
	FILE *f;

	CHECK(hsa_agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_DRIVER_NODE_ID,
				 &node));
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%u/gpu_id", node);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%u", &gpu_id) != 1) {
		fprintf(stderr, "%s cannot be read\n", path);
		_Exit(1);
	}
	fclose(f);
	return gpu_id;
}

static hsa_status_t on_agent(hsa_agent_t agent, void *arg)
{
	hsa_device_type_t type;

	(void)arg;
	CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type != HSA_DEVICE_TYPE_GPU || gpus_end == GPUS)
		return HSA_STATUS_SUCCESS;
	gpu_ids[gpus_end] = gpu_id_of(agent);
	gpus[gpus_end++] = agent;
	return HSA_STATUS_SUCCESS;
}

/*
 * Calls every function once before there are threads. The runtime is compiled without guards for
 * the static variables of its functions: of several concurrent first calls of
 * hsa_amd_queue_set_priority one was seen to fail (7.2.4), also without the shim.
 */
static void warm_up(void)
{
	hsa_queue_t *queue;

	for (unsigned i = 0; i < gpus_end; i++) {
		CHECK(hsa_queue_create(gpus[i], PACKETS, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
				       UINT32_MAX, UINT32_MAX, &queue));
		CHECK(hsa_amd_queue_set_priority(queue, HSA_AMD_QUEUE_PRIORITY_LOW));
		CHECK(hsa_queue_destroy(queue));
	}
}

/*
 * Returns whether the runtime is ROCr 5. There hsa_queue_destroy() can wait for ever, also without
 * the shim: its queues share an auto-reset event, on which the destroying thread and the runtime's
 * own thread wait for each other, and the first of them takes the wake that was meant for the
 * other. One destroying thread is enough if the runtime's thread comes late. Both check the signal
 * again after a wake that was not for them, so this workload raises such a wake ten times a second.
 * ROCr 6 waits by the event's age, and is recognised by a function that is new in it.
 */
static bool may_lose_wakes(void)
{
	return !dlsym(RTLD_DEFAULT, "hsa_amd_vmem_address_reserve");
}

static void *wake_all(void *arg)
{
	int device = *(int *)arg;

	for (;;) {
		for (uint32_t id = 0; id < EVENTS; id++) {
			struct kfd_ioctl_set_event_args event = {.event_id = id};

			/* or the event does not exist */
			ioctl(device, AMDKFD_IOC_SET_EVENT, &event);
		}
		usleep(WAKE_US);
	}
	return NULL;
}

static void begin_waking(void)
{
	static int device;
	pthread_t thread;

	device = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (device < 0 || pthread_create(&thread, NULL, wake_all, &device) != 0) {
		fprintf(stderr, "no second descriptor of /dev/kfd, or no thread\n");
		_Exit(1);
	}
	pthread_detach(thread);
}

static void begin(struct work_truth *truth)
{
	(void)truth;
	CHECK(hsa_init());
	CHECK(hsa_iterate_agents(on_agent, NULL));
	if (gpus_end == 0) {
		fprintf(stderr, "no GPU among the agents\n");
		_Exit(1);
	}
	if (may_lose_wakes())
		begin_waking();
	warm_up();
}

static void create(struct work_truth *truth, struct work_queue *q, hsa_queue_t **at, unsigned gpu)
{
	CHECK(hsa_queue_create(gpus[gpu], PACKETS, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
			       UINT32_MAX, at));
	*q = (struct work_queue){
		.there = true,
		.id = WORK_ANY,
		.gpu_id = gpu_ids[gpu],
		.type = WORK_ANY,
		.priority = WORK_ANY,
		.percent = WORK_ANY,
		.ring = (uint64_t)(uintptr_t)(*at)->base_address,
		.ring_bytes = (uint64_t)(*at)->size * 64,
		.hsa_queue = (uint64_t)(uintptr_t)*at,
		.level = WORK_LEVEL_NORMAL, /* the initial level of every queue */
	};
	work_count(&truth->creates);
}

static void destroy(struct work_truth *truth, struct work_queue *q, hsa_queue_t *queue)
{
	q->there = false;
	CHECK(hsa_queue_destroy(queue));
	work_count(&truth->destroys);
}

static void step(struct work_truth *truth, unsigned thread, unsigned short *random)
{
	static const hsa_amd_queue_priority_t priorities[] = {
		HSA_AMD_QUEUE_PRIORITY_LOW,
		HSA_AMD_QUEUE_PRIORITY_NORMAL,
		HSA_AMD_QUEUE_PRIORITY_HIGH,
	};
	unsigned i = (unsigned)nrand48(random) % WORK_QUEUES, choice;
	struct work_queue *q = &truth->queues[thread][i];

	if (!q->there) {
		create(truth, q, &queues[thread][i], (unsigned)nrand48(random) % gpus_end);
	} else if (nrand48(random) % 2) {
		choice = (unsigned)nrand48(random) % 3;
		CHECK(hsa_amd_queue_set_priority(queues[thread][i], priorities[choice]));
		q->level = WORK_LEVEL_LOW + choice;
		work_count(&truth->updates);
	} else {
		destroy(truth, q, queues[thread][i]);
	}
}

static void end(struct work_truth *truth)
{
	for (unsigned t = 0; t < WORK_THREADS; t++)
		for (unsigned i = 0; i < WORK_QUEUES; i++)
			if (truth->queues[t][i].there)
				destroy(truth, &truth->queues[t][i], queues[t][i]);
}

const struct work_kind work_kind = {.begin = begin, .step = step, .end = end};
