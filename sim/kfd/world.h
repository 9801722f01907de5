/* SPDX-License-Identifier: MIT */
/*
 * The kernel's face of the simulated GPUs: a world is what the tasks under one
 * seccomp listener see of /dev/kfd and the render nodes. The runner (sim/run)
 * makes the namespaces, files and filter, and hands their descriptors in here.
 *
 * What the runner must provide:
 *  - kfd_fd and render_fd: regular files on a tmpfs, open for reading and
 *    writing, that the tasks see as /dev/kfd and /dev/dri/renderD(128 + i).
 *    world_new() sets their (sparse) sizes. The render nodes are hard links of one
 *    file, told apart by their names, because libdrm takes them for one device.
 *  - a filter that notifies for ioctl() whose command has type 'K' or 'd', and,
 *    where modules_fd is given, for openat(): everything that is not ours is
 *    answered with "continue".
 *  - HSA_USERPTR_FOR_PAGED_MEM=0 in the tasks' environment, so that signals
 *    live in shared buffers, where they can be decremented atomically.
 *
 * Units: model time (wall time x time_scale) in the GPU's numbers, wall
 * time in the polling limits. Ownership: world_new() copies the configuration
 * (strings too); descriptors stay the caller's and must live as long as the
 * world. Threads: all calls from one thread, which should do nothing else
 * during world_run() (it may be given real-time priority there, reset on fork);
 * world_run() starts two more for the time it lasts: one waits for calls and is
 * taken out of that by SIGUSR2, one moves many bytes. Errors: negative errno.
 */
#ifndef KFDSHIM_SIM_KFD_WORLD_H
#define KFDSHIM_SIM_KFD_WORLD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/rules.h"
#include "sim/gpu/gpu.h"

#define RENDER_MINOR 128u   /* of the first node; cards count from 0 */
#define WORLD_NODES_MAX 64u /* 8 GPUs of 8 partitions */

/* Numbers of a part that AMDGPU_INFO and the queue checks need. */
struct world_chip {
	uint32_t gfx_target_version; /* as in the topology: 90010 = gfx90a */
	uint32_t device_id;
	uint32_t family;       /* AMDGPU_FAMILY_*: 141 for gfx9 */
	uint32_t chip_rev;     /* within the family */
	uint32_t external_rev; /* within the family */
	uint32_t pci_rev;
	uint32_t shader_engines;
	uint32_t shader_arrays; /* of one engine */
	uint32_t cu_per_array;
	uint32_t engine_khz; /* highest clocks */
	uint32_t memory_khz;
	uint32_t vram_bit_width;
	uint32_t cwsr_bytes; /* save area of one compute queue on one XCC, as in the topology */
	uint32_t ctl_stack_bytes; /* its control stack part, as in the topology */
	uint32_t cp_queues;	  /* compute queue slots of one XCC that the driver owns */
	uint32_t sdma_queues_per_engine;
	uint32_t num_gws; /* of global wave sync; 0: the node has none */
	/* As in the topology, for the device snapshot; of one node. */
	uint32_t simd_count, max_waves_per_simd, array_count, capability, fw_version;
	uint64_t debug_prop;
};

/* What hardware was seen to do otherwise than the driver's source suggests (false:
 * as the source has it), and what can be made to go wrong. */
struct world_switches {
	bool unmatched_resume_unmaps; /* RESUME of a queue that is not suspended stops it */
	bool rptr_at_consumption;     /* an AQL read pointer passes a kernel when it begins */
	bool new_queue_waits; /* a session that subscribes to "new" holds uncollected queues */
	bool suspend_mask_keeps_new;  /* SUSPEND's exception mask does not collect */
	bool destroy_suspended_fails; /* EIO, where the source says that it sleeps */

	uint64_t preempt_ns; /* model: so much later do queues with live work come off */
	uint64_t pin_ns; /* wall: an allocation of the caller's own pages holds its mutex so long */
	uint64_t preempt_fails_at; /* of a node, counted from 1: this bounce never ends; 0: none */
	bool preempt_stuck_queue;  /* it is one queue that does not come off, and the bounce ends */
	uint64_t unmap_latency_ns; /* wall: when the firmware has given up on that queue */
	uint64_t evict_at; /* likewise: after this bounce its process is evicted for a while */
	uint64_t preemption_timeout_ns; /* wall: then the driver gives up on the firmware */
	uint64_t reset_ns;		/* wall: a GPU reset takes this long */
	/* How long the firmware waits for waves to end by themselves: units of 1024
	 * clocks, part of unmap_ns where a call does not say otherwise. */
	uint32_t grace_default;
};

struct world_config {
	const char *profile;
	uint32_t nodes;			     /* 1 .. WORLD_NODES_MAX, all alike */
	uint32_t gpu_ids[WORLD_NODES_MAX];   /* as in the topology, not 0, all different */
	uint32_t locations[WORLD_NODES_MAX]; /* location_id of the topology */
	struct world_chip chip;
	struct world_switches switches;
	struct gpu_config gpu; /* capacity and costs of one node; bounce = unmap + map */
	uint32_t lds_bytes_per_cu;
	uint64_t vram_bytes;
	uint64_t gtt_bytes; /* limit of system memory the GPUs may hold */

	/* How long what runs on it takes (model time). */
	uint64_t unknown_kernel_ns; /* one workgroup of a kernel that is timed only */
	uint64_t blit_bytes_us;	    /* the runtime's copy and fill kernels, > 0 */
	uint64_t sdma_packet_ns;    /* any SDMA packet that is no copy, and a copy's overhead */

	/* Seen on one part: ENABLE leaves the queues suspended until a RESUME. */
	bool enable_leaves_unmapped;

	enum kfdabi_kernel kernel; /* whose rules hold */
	enum kfdabi_rule broken;   /* answered wrongly (--break); KFDABI_RULE_NONE */

	uint64_t seed; /* virtual time: the world's threads take turns (sim/host/cores.h); 0: not */
	/* Virtual time: what the host is charged for a thread that has slept, a call of the driver,
	 * and from a doorbell's store until the GPU has noticed it. At most 1 s each. */
	uint64_t wake_ns, ioctl_ns, dispatch_ns;

	double time_scale; /* > 0; 0.1 = the GPU is ten times slower */

	/* Doorbell polling, wall time; 0 = the default. */
	uint64_t poll_ns;      /* longest gap while busy; 20000 */
	uint64_t poll_hold_ns; /* busy until this long after the last doorbell; 100000000 */
	uint64_t poll_idle_ns; /* longest gap otherwise, reached after 5 s of quiet; 5000000 */

	/* The file that is the standard input of kfdsim: a virtual world may wait for it. */
	dev_t input_dev;
	ino_t input_ino;

	int kfd_fd;
	int render_fd;
	int modules_fd;	    /* answers openat("/proc/modules"); -1: openat is not trapped */
	int sim_json_dirfd; /* folder of simulation.json, which is replaced by rename; -1: none */
	int debugfs_dirfd;  /* folder /sys/kernel/debug/kfd; -1: none */
};

struct world;

int world_new(const struct world_config *config, struct world **out);
void world_free(struct world *world);

/* Before the world's first process runs: the pid namespace in which it counts processes. */
void world_counts_in(struct world *world, uint64_t pid_namespace);

/* Before world_run(): the world's time is virtual (sim/time/page.h). @page_fd: the file of the
 * page, which stays the caller's; @init: the world's first process, which has not been let go yet.
 * 0 or a negative errno. */
int world_virtual(struct world *world, int page_fd, pid_t init);

/* Serves notifications of listener_fd and drives the GPUs until stop_fd is
 * readable (0) or no task is left under the filter (0). */
int world_run(struct world *world, int listener_fd, int stop_fd);

/* How many dispatches took their time and were not executed; @names, if there were any: what kernels
 * these were, the most frequent first, as many as have room. */
uint64_t world_timed_only(const struct world *world, char *names, size_t room);

/* The object of docs/formats.md "kfdsim --report" without "exit_code", which
 * the runner adds. A new reference; NULL: no memory. */
json_t *world_report(struct world *world);

#endif
