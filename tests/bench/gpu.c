// SPDX-License-Identifier: MIT
#include "tests/bench/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void gpu_must(hsa_status_t status, const char *what)
{
	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return;
	fprintf(stderr, "%s: %s is 0x%x\n", program_invocation_short_name, what, status);
	exit(1);
}

static hsa_status_t find_agent(hsa_agent_t agent, void *arg)
{
	hsa_device_type_t type;

	gpu_must(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "hsa_agent_get_info");
	if (type != HSA_DEVICE_TYPE_GPU)
		return HSA_STATUS_SUCCESS;
	*(hsa_agent_t *)arg = agent;
	return HSA_STATUS_INFO_BREAK;
}

hsa_agent_t gpu_first(void)
{
	hsa_agent_t gpu = {0};

	gpu_must(hsa_iterate_agents(find_agent, &gpu), "hsa_iterate_agents");
	return gpu;
}

hsa_queue_t *gpu_queue(hsa_agent_t gpu, uint32_t packets)
{
	hsa_queue_t *queue;

	gpu_must(hsa_queue_create(gpu, packets, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
				  UINT32_MAX, &queue),
		 "hsa_queue_create");
	return queue;
}
