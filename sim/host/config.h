/* SPDX-License-Identifier: MIT */
/*
 * Configuration with which a simulation is created (sim.h).
 *
 * Units: the GPU's properties and the costs in a profile are in model time (wall time x
 * time_scale). The profile's keys in milliseconds, and pin_us, are in wall time.
 */
#ifndef KFDSHIM_SIM_HOST_CONFIG_H
#define KFDSHIM_SIM_HOST_CONFIG_H

#include <sys/types.h>

#include "kfd/driver_rules.h"
#include "sim/gpu/gpu.h"

#define RENDER_MINOR 128u /* render minor of the first node; card minors begin at 0 */
#define SIM_NODES_MAX 64u /* 8 GPUs with 8 partitions each */

/*
 * A profile (sim/sandbox/profile.h): the properties of a GPU or of one of its nodes, the costs of
 * its work, behaviour that differs between hardware and the driver's source (0: as in the source),
 * and failures that can be provoked. docs/kfdsim/settings-gpu.md and settings-behaviour.md describe
 * each key.
 */
struct profile {
	char name[32];
	char asic[32];	     /* the driver's name of the node */
	uint32_t partitions; /* nodes of one GPU: 1 (SPX) or num_xcc (CPX) */
#define WHOLE(name, low, high) uint32_t name;
#define LARGE(name, low, high) uint64_t name;
#define REAL(name, low, high) double name;
#define WORDS(name, ...) uint32_t name;
#include "sim/host/profile_keys.def"
#undef WHOLE
#undef LARGE
#undef REAL
#undef WORDS
};

/* Converts a key of a profile in microseconds to ns. */
static inline uint64_t us_ns(double us)
{
	return (uint64_t)(us * 1000.0 + 0.5);
}

/* Converts a bandwidth of a profile to bytes per microsecond, at least 1. */
static inline uint64_t gb_bytes_us(double gb_per_s)
{
	uint64_t bytes = us_ns(gb_per_s);

	return bytes ? bytes : 1;
}

struct sim_config {
	struct profile node;		   /* of one node */
	uint32_t nodes;			   /* 1 to SIM_NODES_MAX, all alike */
	uint32_t gpu_ids[SIM_NODES_MAX];   /* those of the topology; not 0, all different */
	uint32_t locations[SIM_NODES_MAX]; /* location_id of the topology */
	/* Capacity and costs of one node. A runlist update costs the sum of unmap and map. */
	struct gpu_config gpu;

	enum kfdabi_kernel kernel;    /* driver rules to follow */
	enum kfdabi_rule broken_rule; /* rule to break (--break); KFDABI_RULE_NONE: none */

	/* In virtual time: seed of the order in which threads run (virtual.c); 0: no seed */
	uint64_t seed;

	double time_scale; /* > 0; 0.1: the GPU is ten times slower */

	/* Standard input of kfdsim, for which a simulation in virtual time is allowed to wait. */
	dev_t input_dev;
	ino_t input_ino;

	int kfd_fd;
	int render_fd;
	int modules_fd; /* fd for openat("/proc/modules"); -1: openat() is not trapped */
	/* directory of simulation.json, which is replaced by rename; -1: none */
	int sim_json_dirfd;
	int debugfs_dirfd; /* directory /sys/kernel/debug/kfd; -1: none */
};

#endif
