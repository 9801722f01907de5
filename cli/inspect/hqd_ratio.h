/* SPDX-License-Identifier: MIT */
/*
 * Calculates the ratio of the compute queues of a process to the hardware slots that they occupy.
 *
 * For each queue the driver passes an MQD to the firmware for every XCC of the node, and the
 * firmware maps the queue to a hardware slot (HQD) of every XCC. So a mapped queue has as many
 * active HQDs as its node has XCCs: 1:1 on MI210, 1:4 on MI308X, 1:8 on MI300X if the GPU is one
 * node. SDMA queues do not belong to XCCs and are counted separately.
 *
 * Pure. Threads: any. No errors: a value that is not known is not counted, and mqds_known and
 * hqds_known show that.
 */
#ifndef KFDSHIM_CLI_INSPECT_HQD_RATIO_H
#define KFDSHIM_CLI_INSPECT_HQD_RATIO_H

#include "cli/inspect/queue_view.h"
#include "kfd/topology.h"

/* Counts for the queues of one GPU, or of all GPUs. */
struct ratio {
	uint32_t gpu_id; /* 0: all GPUs */
	uint32_t xccs;	 /* XCCs of the GPU; 0: not known, or not the same on all GPUs */
	uint32_t queues; /* compute queues */
	uint32_t mapped; /* compute queues that are in a slot of at least one XCC now */
	uint32_t idle;	 /* compute queues in no slot: suspended, evicted, or waiting for a slot */
	uint32_t torn;	 /* compute queues in slots of some XCCs, but not of all */
	uint32_t least, most;		 /* fewest and most HQDs of a mapped compute queue */
	uint64_t mqds, hqds;		 /* MQDs and HQDs of all compute queues */
	bool mqds_known, hqds_known;	 /* true: known for every compute queue */
	uint32_t sdma_queues, sdma_hqds; /* SDMA and XGMI queues, and their HQDs */
};

/*
 * Counts the queues of one process by their values OBSERVE_MQDS and OBSERVE_HQDS. Queues whose type
 * is not known are left out.
 *
 * gpus: topology of the machine; n_gpus can be 0. Writes one entry for each GPU that has a queue,
 * sorted by gpu_id, at most `max`, to out[], and the counts of all GPUs to *all.
 *
 * Returns the number of entries in out[].
 */
size_t ratio_of(const struct observe_list *list, const struct topology_gpu *gpus, size_t n_gpus,
		struct ratio *out, size_t max, struct ratio *all);

/* Counts the queues of one process in an observation, as ratio_of() does. If debugfs was read,
 * counts the queues that have an MQD in it, because that list is complete even if the queue ids are
 * not known. Otherwise counts the queues joined from all sources. */
size_t ratio_of_observation(const struct observation *observation, const struct topology_gpu *gpus,
			    size_t n_gpus, struct ratio *out, size_t max, struct ratio *all);

/* Writes "1:4" if each mapped queue has 4 active HQDs, "mixed" if the numbers differ, or "-" if no
 * queue is mapped or the number is not known. Returns `text`. */
#define RATIO_TEXT 16
const char *ratio_text(char text[RATIO_TEXT], const struct ratio *ratio);

#endif
