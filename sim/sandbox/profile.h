/* SPDX-License-Identifier: MIT */
/*
 * Profiles: the properties of a GPU and the costs of its work. They are INI files in sim/profiles
 * and are built into the program, so that a copy of the kfdsim executable alone still has them. A
 * profile sets every key exactly once; --set replaces the value of any numeric key.
 *
 * A profile describes the whole GPU, in partition mode SPX. For a GPU with several XCCs there is a
 * second profile, NAME-cpx: the same GPU in mode CPX, where the driver makes a node of every XCC
 * (profile_node() below).
 */
#ifndef KFDSHIM_SIM_SANDBOX_PROFILE_H
#define KFDSHIM_SIM_SANDBOX_PROFILE_H

#include "sim/host/config.h"

/* Reads and checks the built-in profile @name. */
void profile_load(const char *name, struct profile *out);
/* Sets one key; @assignment is "KEY=VALUE". */
void profile_set(struct profile *profile, const char *assignment);
/* Ends kfdsim with a message if the values, with all --set values applied, are not those of a
 * possible GPU. */
void profile_check(const struct profile *profile);

/* Returns the name of the profile number @index, in the order in which --break tries them; NULL
 * after the last one. */
const char *profile_name(size_t index);

/* Returns the properties of one node of the GPU: the profile itself, or its share in mode CPX. */
struct profile profile_node(const struct profile *profile);

/* Sets out->node and out->gpu, which describe one node and are valid for all, from the profile. The
 * caller sets the number of nodes, their ids and their locations from struct machine. */
void profile_to_sim(const struct profile *profile, struct sim_config *out);

/* ---- the machine ----
 * The simulated GPUs and the driver's names for them: PCI addresses, nodes and ids. sysfs, the
 * device files and the simulated driver are all made from this description, so that they agree.
 */
#define MACHINE_GPUS_MAX 8u
#define VENDOR_AMD 0x1002u
#define GFX942 90402u
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
