/* SPDX-License-Identifier: MIT */
/*
 * Which GPUs there are and what the driver calls them: PCI addresses, nodes,
 * ids. Everything that sysfs, the device files and the world must agree on.
 */
#ifndef KFDSHIM_SIM_RUN_MACHINE_H
#define KFDSHIM_SIM_RUN_MACHINE_H

#include "abi/rules.h"
#include "sim/kfd/world.h"
#include "sim/run/profile.h"

#define MACHINE_GPUS_MAX 8u

struct machine_gpu {
	unsigned bus; /* domain 0, device 0, function 0 */
	uint64_t unique_id, hive_id;
};

struct machine_node {
	unsigned gpu;	    /* index in gpus[] */
	unsigned partition; /* of that GPU */
	uint32_t gpu_id;
	uint32_t location; /* location_id of the topology */
};

struct machine {
	const struct profile *profile;
	struct profile node_profile; /* profile_node(profile) */
	enum kfdabi_kernel kernel;
	enum kfdabi_rule broken; /* answered wrongly (--break) */
	unsigned n_gpus, n_nodes;
	struct machine_gpu gpus[MACHINE_GPUS_MAX];
	struct machine_node nodes[WORLD_NODES_MAX];
};

/* Finds a place for n_gpus (1 .. MACHINE_GPUS_MAX) of them on PCI buses that
 * the host does not use. The profile must outlive the machine. Returns an exit
 * status, having said why (say.h). */
int machine_new(struct machine *machine, const struct profile *profile, unsigned n_gpus,
		enum kfdabi_kernel kernel);
/* Of a node, as in the topology under that kernel. */
uint64_t machine_capability(const struct machine *machine);

#endif
