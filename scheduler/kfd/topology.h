/* SPDX-License-Identifier: MIT */
/*
 * The GPUs as the driver's topology in sysfs describes them. World readable, but a device
 * cgroup hides GPUs (the driver answers EPERM), and then they are not listed.
 *
 * It changes only with a card's partition mode, which changes gpu_ids, too.
 */
#ifndef KFDSHIM_SCHEDULER_KFD_TOPOLOGY_H
#define KFDSHIM_SCHEDULER_KFD_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "common/nodes.h"

#define TOPOLOGY_GPUS GPU_NODES_MAX

struct topology_gpu {
	uint32_t gpu_id;
	uint32_t node;		     /* its number in sysfs */
	uint32_t gfx_target_version; /* 90402: gfx942 */
	uint32_t xccs;		     /* at least 1: older drivers do not tell */
	uint32_t cp_queues;	     /* hardware slots for compute queues, of one XCC */
	uint32_t sdma_engines;	     /* numbered from 0; */
	uint32_t xgmi_engines;	     /* behind them */
	uint32_t sdma_queues;	     /* slots of each such engine */
	uint32_t simds, simds_per_cu;
};

/* Sorted by node, at most `max`; their number. */
size_t topology_gpus(struct topology_gpu *out, size_t max);
/* NULL: none of them. */
const struct topology_gpu *topology_find(const struct topology_gpu *gpus, size_t n,
					 uint32_t gpu_id);

#endif
