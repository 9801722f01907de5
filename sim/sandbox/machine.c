// SPDX-License-Identifier: MIT
#include "sim/sandbox/machine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/sandbox/say.h"

#define FIRST_BUS 0x03u /* first PCI bus that is tried */
#define LAST_BUS 0xffu
#define GFX942 90402u
#define CAP_PER_QUEUE_RESET (1u << 31)
#define CAP_DEBUG (1u << 15)

/* Returns true if the host has no device in the first slot of the PCI bus. */
static bool bus_free(unsigned bus)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/0000:%02x:00.0", bus);
	return access(path, F_OK) && errno == ENOENT;
}

/* Assigns to each GPU a PCI bus whose first slot is free on the host, so that no device of the host
 * is hidden. */
static void place_gpus(struct machine *m)
{
	unsigned bus = FIRST_BUS;

	for (unsigned i = 0; i < m->n_gpus; i++, bus++) {
		while (bus <= LAST_BUS && !bus_free(bus))
			bus++;
		if (bus > LAST_BUS)
			die(STATUS_IMPOSSIBLE,
			    "the host has too few PCI buses without a device in their "
			    "first slot for %u GPUs",
			    m->n_gpus);
		m->gpus[i].bus = bus;
	}
}

/* Continues a CRC-16 with the polynomial 0x8005, reflected, like the kernel's crc16(). */
static uint16_t crc16(uint16_t crc, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (uint16_t)(crc >> 1 ^ 0xa001) : (uint16_t)(crc >> 1);
	}
	return crc;
}

static bool gpu_id_used(const struct machine *m, unsigned n, uint32_t gpu_id)
{
	for (unsigned i = 0; i < n; i++) {
		if (m->nodes[i].gpu_id == gpu_id)
			return true;
	}
	return false;
}

/* Computes the gpu_id as the driver does (kfd_generate_gpu_id()): a CRC of the PCI identity, the
 * node's memory and its XCCs, incremented while it is 0 or in use. */
static uint32_t make_gpu_id(const struct machine *m, unsigned n)
{
	const struct machine_node *node = &m->nodes[n];
	const struct profile *p = &m->node_profile;
	uint32_t first_xcc = node->partition * p->num_xcc;
	const uint32_t identity[8] = {
		0, /* device and function */
		VENDOR_AMD | p->device_id << 16,
		0, /* domain */
		p->device_id,
		m->gpus[node->gpu].bus,
		(uint32_t)p->vram_bytes,
		(uint32_t)(p->vram_bytes >> 32),
		first_xcc | p->num_xcc << 16,
	};
	uint16_t id = crc16(0, (const uint8_t *)identity, sizeof(identity));

	while (!id || gpu_id_used(m, n, id))
		id++;
	return id;
}

void machine_new(struct machine *m, const struct profile *profile, unsigned n_gpus,
		 enum kfdabi_kernel kernel)
{
	*m = (struct machine){.profile = profile, .kernel = kernel, .n_gpus = n_gpus};
	m->node_profile = profile_node(profile);
	place_gpus(m);
	for (unsigned i = 0; i < n_gpus; i++) {
		m->gpus[i].unique_id = profile->unique_id + i;
		m->gpus[i].hive_id =
			profile->hive_id ? profile->hive_id + i / profile->hive_gpus : 0;
		for (unsigned part = 0; part < profile->partitions; part++) {
			unsigned n = m->n_nodes;
			struct machine_node *node = &m->nodes[n];

			node->gpu = i;
			node->partition = part;
			node->gpu_id = make_gpu_id(m, n);
			/* All partitions have the GPU's address; bits 31:28 are the partition. */
			node->location = m->gpus[i].bus << 8 | part << 28;
			m->n_nodes++;
		}
	}
}

uint32_t machine_capability(const struct machine *machine)
{
	const struct profile *p = &machine->node_profile;

	if (machine->broken_rule == RULE_topology_gpu_can_be_debugged)
		return p->capability & ~CAP_DEBUG;
	/* Linux 7.3 announces the reset of single queues, for gfx942 and later. */
	if (machine->kernel == KFDABI_LINUX_7_3 && p->gfx_target_version >= GFX942)
		return p->capability | CAP_PER_QUEUE_RESET;
	return p->capability;
}
