// SPDX-License-Identifier: MIT
#include "tests/system/shim/spin.h"

#include <hsa/hsa_ext_amd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/kernels/code_objects.h"

#define KERNEL "kfdreplay_spin.kd"
#define GROUP 256u	   /* work-items, as the kernel requires */
#define TICKS_A_MS 100000u /* ticks per ms of the 100 MHz counter */
#define ARGS_BYTES 256u

static struct {
	uint64_t ticks, cells; /* cells: address for its marks; 0: none */
} * args;
static uint64_t kernel;

static void must(hsa_status_t status, const char *what)
{
	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return;
	fprintf(stderr, "spin kernel: %s is %#x\n", what, status);
	exit(1);
}

static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void *data)
{
	hsa_amd_segment_t segment;
	uint32_t flags;

	must(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment),
	     "pool info");
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	must(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags),
	     "pool info");
	if (!(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT))
		return HSA_STATUS_SUCCESS;
	*(hsa_amd_memory_pool_t *)data = pool;
	return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t on_agent(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	must(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "agent info");
	if (type != HSA_DEVICE_TYPE_CPU)
		return HSA_STATUS_SUCCESS;
	must(hsa_amd_agent_iterate_memory_pools(agent, on_pool, data), "pools");
	return HSA_STATUS_INFO_BREAK;
}

static void make_args(hsa_agent_t gpu)
{
	hsa_amd_memory_pool_t pool = {0};
	void *memory;

	must(hsa_iterate_agents(on_agent, &pool), "agents");
	must(hsa_amd_memory_pool_allocate(pool, ARGS_BYTES, 0, &memory), "kernarg memory");
	must(hsa_amd_agents_allow_access(1, &gpu, NULL, memory), "access");
	memset(memory, 0, ARGS_BYTES);
	args = memory;
}

void spin_load(hsa_agent_t gpu)
{
	const struct code_object *object;
	hsa_code_object_reader_t reader;
	hsa_executable_symbol_t symbol;
	hsa_executable_t executable;
	char name[64];

	must(hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, name), "agent's name");
	object = code_object_find(name);
	if (!object) {
		fprintf(stderr, "spin kernel: there is none for %s\n", name);
		exit(1);
	}
	must(hsa_code_object_reader_create_from_memory(
		     object->data, (size_t)(object->end - object->data), &reader),
	     "code object");
	must(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
				       NULL, &executable),
	     "executable");
	must(hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL), "loading");
	must(hsa_executable_freeze(executable, NULL), "freezing");
	must(hsa_executable_get_symbol_by_name(executable, KERNEL, &gpu, &symbol), "symbol");
	must(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
					    &kernel),
	     "symbol info");
	make_args(gpu);
}

uint16_t spin_packet(hsa_kernel_dispatch_packet_t *packet, unsigned ms, hsa_signal_t completion)
{
	args->ticks = (uint64_t)ms * TICKS_A_MS;
	memset((char *)packet + sizeof(packet->header), 0,
	       sizeof(*packet) - sizeof(packet->header));
	packet->setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
	packet->workgroup_size_x = packet->grid_size_x = GROUP;
	packet->workgroup_size_y = packet->workgroup_size_z = 1;
	packet->grid_size_y = packet->grid_size_z = 1;
	packet->kernel_object = kernel;
	packet->kernarg_address = args;
	packet->completion_signal = completion;
	return HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
	       1 << HSA_PACKET_HEADER_BARRIER;
}
