/* SPDX-License-Identifier: MIT */
/*
 * What a simulation is created with (sim.h): the GPU type, its costs, and switches of behaviour.
 *
 * Units: model time (wall time x time_scale) in the GPU's numbers, wall time in the polling limits.
 */
#ifndef KFDSHIM_SIM_HOST_CONFIG_H
#define KFDSHIM_SIM_HOST_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kfd/driver_rules.h"
#include "sim/gpu/gpu.h"

#define RENDER_MINOR 128u /* of the first node; cards count from 0 */
#define SIM_NODES_MAX 64u /* 8 GPUs with 8 partitions each */

/* Properties of a GPU type that AMDGPU_INFO and the checks of queues need. */
struct sim_chip {
	uint32_t gfx_target_version; /* as in the topology; 90010: gfx90a */
	uint32_t device_id;
	uint32_t family;       /* AMDGPU_FAMILY_*; 141: gfx9 */
	uint32_t chip_rev;     /* within the family */
	uint32_t external_rev; /* within the family */
	uint32_t pci_rev;
	uint32_t shader_engines;
	uint32_t shader_arrays; /* in one engine */
	uint32_t cu_per_array;
	uint32_t engine_khz; /* highest clocks */
	uint32_t memory_khz;
	uint32_t vram_bit_width;
	uint32_t cwsr_bytes; /* save area of one compute queue on one XCC, as in the topology */
	uint32_t ctl_stack_bytes; /* control stack in that area, as in the topology */
	uint32_t cp_queues;	  /* compute queue slots of one XCC that belong to the driver */
	uint32_t sdma_queues_per_engine;
	uint32_t num_gws; /* resources for global wave sync; 0: the node has none */
	/* Values of one node for the device snapshot, as in the topology. */
	uint32_t simd_count, max_waves_per_simd, array_count, capability, fw_version;
	uint64_t debug_prop;
};

/* Behaviour that differs between hardware and the driver's source (false: as in the source), and
 * failures that can be provoked. */
struct sim_switches {
	bool unmatched_resume_unmaps; /* RESUME of a queue that is not suspended stops the queue */
	bool rptr_at_consumption;     /* the AQL read pointer passes a kernel when it begins */
	/* in a session that enables "new", queues with that exception do not run */
	bool new_queue_waits;
	/* the exception mask of SUSPEND_QUEUES does not clear "new" */
	bool suspend_mask_keeps_new;
	/* DESTROY_QUEUE returns EIO for a suspended queue, where the source sleeps */
	bool destroy_suspended_fails;

	uint64_t preempt_ns; /* model time; added to an unmap of queues with live work */
	/* wall time; an allocation of the caller's own pages holds the mutex so long */
	uint64_t pin_ns;
	/* number of the runlist update of a node that never ends, from 1; 0: none */
	uint64_t preempt_fails_at;
	bool preempt_stuck_queue;  /* that update ends, but one queue does not come off */
	uint64_t unmap_latency_ns; /* wall time after which the firmware gives up on that queue */
	/* number of the update of a node after which its process is evicted; 0: none */
	uint64_t evict_at;
	/* wall time after which the driver gives up on the firmware */
	uint64_t preemption_timeout_ns;
	uint64_t reset_ns; /* wall time of a GPU reset */
	/* How long the firmware waits for waves to end by themselves, in units of 1024 GPU clocks.
	 * It is part of unmap_ns unless a call sets another grace period. */
	uint32_t grace_default;
};

struct sim_config {
	const char *profile;
	uint32_t nodes;			   /* 1 to SIM_NODES_MAX, all alike */
	uint32_t gpu_ids[SIM_NODES_MAX];   /* as in the topology; not 0, all different */
	uint32_t locations[SIM_NODES_MAX]; /* location_id of the topology */
	struct sim_chip chip;
	struct sim_switches switches;
	struct gpu_config gpu; /* capacity and costs of one node; runlist update: unmap + map */
	uint32_t lds_bytes_per_cu;
	uint64_t vram_bytes;
	uint64_t gtt_bytes; /* limit of system memory for the GPUs */

	/* Durations of work (model time). */
	uint64_t unknown_kernel_ns; /* one workgroup of a kernel that is timed, not executed */
	/* bandwidth of the runtime's copy and fill kernels in bytes per us; > 0 */
	uint64_t blit_bytes_us;
	uint64_t sdma_packet_ns; /* an SDMA packet that is not a copy; added to each copy */

	/* Seen on one GPU type: ENABLE leaves the queues suspended until a RESUME. */
	bool enable_leaves_unmapped;

	enum kfdabi_kernel kernel;    /* driver rules to follow */
	enum kfdabi_rule broken_rule; /* rule to break (--break); KFDABI_RULE_NONE: none */

	/* virtual time: threads run in an order drawn from it (sim/host/cores.h); 0: off */
	uint64_t seed;
	/* Virtual time: time that passes for a thread that has slept, for a call of the driver, and
	 * from a doorbell store until the GPU has noticed it. At most 1 s each. */
	uint64_t wake_ns, ioctl_ns, dispatch_ns;

	double time_scale; /* > 0; 0.1: the GPU is ten times slower */

	/* Doorbell polling, in ns of wall time; 0: the default. */
	uint64_t poll_ns;      /* longest interval while busy; default 20000 */
	uint64_t poll_hold_ns; /* busy for so long after the last doorbell; default 100000000 */
	/* longest interval otherwise, reached after 5 s without doorbells; default 5000000 */
	uint64_t poll_idle_ns;

	/* Standard input of kfdsim, for which a simulation in virtual time is allowed to wait. */
	dev_t input_dev;
	ino_t input_ino;

	int kfd_fd;
	int render_fd;
	int modules_fd; /* answer to openat("/proc/modules"); -1: openat is not trapped */
	/* directory of simulation.json, which is replaced by rename; -1: none */
	int sim_json_dirfd;
	int debugfs_dirfd; /* directory /sys/kernel/debug/kfd; -1: none */
};

#endif
