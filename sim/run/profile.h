/* SPDX-License-Identifier: MIT */
/*
 * Profiles: what a GPU is and what its work costs. They stand in sim/profiles
 * as INI files and are built into the program, so that a kfdsim that is
 * copied elsewhere still has them. A profile gives every key exactly once;
 * --set replaces the value of any numeric one.
 *
 * A profile describes the whole GPU, in partition mode SPX. Of one with several
 * XCCs there is a second, NAME-cpx: the same GPU in mode CPX, where the driver
 * makes a node of every XCC (profile_node below).
 */
#ifndef KFDSHIM_SIM_RUN_PROFILE_H
#define KFDSHIM_SIM_RUN_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/kfd/world.h"

struct profile {
	char name[32];
	char asic[32];	     /* the driver's name of the node */
	uint32_t partitions; /* nodes of one GPU: 1 (SPX), or num_xcc (CPX) */
	/* Identity. */
	uint64_t unique_id, hive_id, gfx_target_version, device_id, family_id;
	uint64_t chip_revision, external_revision, pci_revision, fw_version, sdma_fw_version;
	/* Shape, under the names of the topology's properties. */
	uint64_t simd_count, simd_per_cu, array_count, simd_arrays_per_engine, cu_per_simd_array;
	uint64_t num_xcc, max_waves_per_simd, wave_front_size, max_slots_scratch_cu;
	uint64_t lds_size_in_kb, num_gws, num_cp_queues;
	uint64_t num_sdma_engines, num_sdma_xgmi_engines, num_sdma_queues_per_engine;
	uint64_t max_engine_clk_fcompute, max_engine_clk_ccompute; /* MHz */
	uint64_t capability, debug_prop, cwsr_enable, cwsr_size, ctl_stack_size;
	/* Memory. */
	uint64_t vram_bytes, gtt_bytes, mem_width, mem_clk_max;
	uint64_t l1_size_in_kb, l1_line_bytes, l2_size_in_kb, l2_line_bytes;
	uint64_t inst_size_in_kb, scalar_size_in_kb, cus_per_inst_cache, l3_size_in_kb;
	/* Links. */
	uint64_t link_min_mb_per_s, link_max_mb_per_s, link_weight;
	uint64_t hive_gpus, xgmi_mb_per_s, xgmi_weight;
	/* What hardware may do otherwise, and what can be made to go wrong. */
	uint64_t unmatched_resume_unmaps, new_queue_waits, suspend_mask_keeps_new;
	uint64_t rptr_at_consumption;
	uint64_t destroy_suspended_fails, preempt_fails_at, preempt_stuck, evict_at, grace_default;
	uint64_t queue_preemption_timeout_ms, unmap_latency_ms, gpu_reset_ms; /* wall time */
	/* Costs, in model time. */
	double preempt_us;
	double pin_us, bounce_us, packet_us, sdma_packet_us, unknown_kernel_us;
	double save_gb_per_s, restore_gb_per_s, blit_gb_per_s;
	double sdma_gb_per_s, host_gb_per_s, peer_gb_per_s; /* an engine; links */
	/* Oversubscription, and what parts differ in. */
	uint64_t vmids;
	double host_wake_us, host_ioctl_us, host_dispatch_us; /* where time is virtual */
	double process_quantum_ms, queue_quantum_ms, switch_us, first_suspend_us;
	uint64_t enable_leaves_unmapped; /* 0 or 1 */
};

/* All of these say what is wrong and return an exit status (say.h). */
int profile_load(const char *name, struct profile *out);
int profile_set(struct profile *profile, const char *assignment); /* "KEY=VALUE" */
/* Do the numbers, after all --set, make a GPU? */
int profile_check(const struct profile *profile);

/* The names that --gpu takes, in the order in which --break tries them; NULL
 * behind the last. */
const char *profile_name(size_t index);

/* What one node of the GPU has: the profile itself, or its part in CPX. */
struct profile profile_node(const struct profile *profile);

/* Fills in everything that comes from the profile; the nodes themselves are
 * the machine's (machine.h). The strings stay the profile's. */
void profile_to_world(const struct profile *profile, struct world_config *out);

#endif
