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

#include <stddef.h>
#include <stdint.h>

#include "sim/host/config.h"

struct profile {
	char name[32];
	char asic[32];	     /* the driver's name of the node */
	uint32_t partitions; /* nodes of one GPU: 1 (SPX) or num_xcc (CPX) */
	/* Identity. */
	uint64_t unique_id, hive_id, gfx_target_version, device_id, family_id;
	uint64_t chip_revision, external_revision, pci_revision, fw_version, sdma_fw_version;
	/* Size, with the names of the topology's properties. */
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
	/* Behaviour in which hardware may differ, and faults for tests. */
	uint64_t unmatched_resume_unmaps, new_queue_waits, suspend_mask_keeps_new;
	uint64_t rptr_at_consumption;
	uint64_t destroy_suspended_fails, preempt_fails_at, preempt_stuck, evict_at, grace_default;
	uint64_t queue_preemption_timeout_ms, unmap_latency_ms, gpu_reset_ms; /* wall time */
	/* Costs, in model time. */
	double preempt_us;
	double pin_us, bounce_us, packet_us, sdma_packet_us, unknown_kernel_us;
	double save_gb_per_s, restore_gb_per_s, blit_gb_per_s;
	/* Limit of an engine; bandwidth of links. */
	double sdma_gb_per_s, host_gb_per_s, peer_gb_per_s;
	/* Oversubscription, and costs that differ between parts. */
	uint64_t vmids;
	double host_wake_us, host_ioctl_us, host_dispatch_us; /* virtual time only */
	double process_quantum_ms, queue_quantum_ms, switch_us, first_suspend_us;
	uint64_t enable_leaves_unmapped; /* 0 or 1 */
};

/* Reads and checks the built-in profile @name. */
void profile_load(const char *name, struct profile *out);
/* Sets one key; @assignment is "KEY=VALUE". */
void profile_set(struct profile *profile, const char *assignment);
/* Checks whether the values, after all --set, are those of a possible GPU. */
void profile_check(const struct profile *profile);

/* Returns the names that --gpu accepts, in the order in which --break tries them; NULL
 * after the last. */
const char *profile_name(size_t index);

/* Returns the properties of one node of the GPU: the profile itself, or its share in mode CPX. */
struct profile profile_node(const struct profile *profile);

/* Fills in everything that follows from the profile; the nodes come from the machine (machine.h).
 * The strings stay the profile's. */
void profile_to_sim(const struct profile *profile, struct sim_config *out);

#endif
