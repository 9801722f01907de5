/* SPDX-License-Identifier: MIT */
/*
 * The GPUs in the driver's topology (/sys/class/kfd/kfd/topology/nodes).
 *
 * The files are world readable. A device cgroup can hide a GPU: reading then fails with EPERM, and
 * the GPU is not listed. The topology changes only when the partition mode of a card changes, which
 * changes the gpu_ids, too.
 *
 * Threads: any. No state is kept.
 */
#ifndef KFDSHIM_KFD_TOPOLOGY_H
#define KFDSHIM_KFD_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/nodes.h"

/* Enough for eight cards in eight partitions each (64). */
#define TOPOLOGY_GPUS GPU_NODES_MAX

#define CWSR_UNKNOWN UINT32_MAX

struct topology_gpu {
	uint32_t gpu_id;
	uint32_t node;		     /* number of the node's directory in sysfs */
	uint32_t gfx_target_version; /* 90402 for gfx942 */
	uint32_t xccs;		     /* XCCs of the node; 1 if the driver is too old to report it */
	uint32_t cp_queues;	     /* hardware slots for compute queues on one XCC */
	uint32_t sdma_engines;	     /* SDMA engines, numbered from 0 */
	uint32_t xgmi_engines;	     /* SDMA engines for XGMI, numbered after the sdma_engines */
	uint32_t sdma_queues;	     /* queue slots in hardware of each SDMA engine, XGMI or not */
	uint32_t simds, simds_per_cu; /* SIMDs of the node, and of one compute unit */
	uint32_t capability;	      /* bits KFDABI_CAP_* and others */
	uint32_t render_minor;	      /* minor number of its render node */
	uint32_t location_id, domain; /* PCI bus, device and function; PCI domain */
	uint32_t cwsr_bytes;	      /* save area for running waves; CWSR_UNKNOWN: not reported */
};

/* Reads at most `max` GPUs and sorts them by node; if there are more, it is undefined which are
 * read. Returns their number; 0 if there is no driver. A property that the driver does not report
 * is 0, except xccs and cwsr_bytes. */
size_t topology_gpus(struct topology_gpu *out, size_t max);
/* As topology_gpus(), for a machine whose files are below the directory `root`, at most 90 bytes;
 * "": this machine. */
size_t topology_gpus_below(const char *root, struct topology_gpu *out, size_t max);
/* Writes the gpu_ids of at most `max` GPUs, in no order, and returns their number. Reads only one
 * short file of each node, so that it suits callers with little time. */
size_t topology_gpu_ids(uint32_t *out, size_t max);
/* Returns the entry with that gpu_id, or NULL. */
const struct topology_gpu *topology_find(const struct topology_gpu *gpus, size_t n,
					 uint32_t gpu_id);

/* ---- saving of running waves (CWSR) ---- */

#define CWSR_WHY 96 /* bytes of a reason */

/*
 * Finds out whether the driver can save running waves. Where it cannot, the driver waits for
 * running kernels to end whenever it takes queues off a GPU, and resets the GPU if that takes
 * longer than queue_preemption_timeout_ms (9 s). So queues must not be suspended there.
 *
 * amdgpu.cwsr_enable=0 disables CWSR for all GPUs (a common workaround on gfx11 parts). A driver
 * that does not use it on one GPU reports `cwsr_size 0` for that GPU in the topology. Drivers
 * before Linux 7.0 do not report the size, so its absence has no meaning.
 *
 * Returns true if waves cannot be saved on one of the GPUs that this process is allowed to see, and
 * writes the reason to `why`. Returns false also if the driver does not show whether it can save
 * them.
 */
bool cwsr_is_missing(char why[static CWSR_WHY]);

#endif
