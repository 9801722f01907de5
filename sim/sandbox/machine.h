/* SPDX-License-Identifier: MIT */
/*
 * The simulated GPUs and the driver's names for them: PCI addresses, nodes and ids. sysfs, the
 * device files and the simulated driver are all made from this description, so that they agree.
 */
#ifndef KFDSHIM_SIM_SANDBOX_MACHINE_H
#define KFDSHIM_SIM_SANDBOX_MACHINE_H

#include "kfd/driver_rules.h"
#include "sim/host/config.h"
#include "sim/sandbox/profile.h"

#define MACHINE_GPUS_MAX 8u
#define VENDOR_AMD 0x1002u
#define SIMD_ID_BASE 2147487744u

struct machine_gpu {
	unsigned bus; /* PCI bus; domain, device and function are 0 */
	uint64_t unique_id, hive_id;
};

struct machine_node {
	unsigned gpu;	    /* index in gpus[] */
	unsigned partition; /* number of the partition in its GPU */
	uint32_t gpu_id;
	uint32_t location; /* location_id of the topology */
};

struct machine {
	const struct profile *profile;
	struct profile node_profile; /* profile_node(profile) */
	enum kfdabi_kernel kernel;
	enum kfdabi_rule broken_rule; /* driver rule that is broken on purpose (--break) */
	unsigned n_gpus, n_nodes;
	struct machine_gpu gpus[MACHINE_GPUS_MAX];
	struct machine_node nodes[SIM_NODES_MAX];
};

/* Fills *machine with n_gpus GPUs (1 .. MACHINE_GPUS_MAX) on PCI buses that the host does not use.
 * The profile must outlive the machine. */
void machine_new(struct machine *machine, const struct profile *profile, unsigned n_gpus,
		 enum kfdabi_kernel kernel);
/* Returns the capability flags that the topology shows for a node under the machine's kernel. */
uint32_t machine_capability(const struct machine *machine);

/* Writes the sysfs files of the GPUs, which do not change later, into the tree (mounts.h): the KFD
 * topology, and the files of the PCI and DRM devices and of the driver's module. In topology.c. */
void topology_write(const struct machine *machine);

#endif
