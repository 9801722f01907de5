/* SPDX-License-Identifier: MIT */
/*
 * How the compute queues of a process lie in hardware. The driver hands the firmware a
 * descriptor (MQD) of each, one for every XCC of its node, and the firmware puts the queue
 * into a hardware slot (HQD) of every XCC. So a queue that is mapped has as many active
 * HQDs as its node has XCCs: 1:1 on MI210, 1:4 on MI308X, 1:8 on MI300X where the GPU is
 * one node. SDMA queues do not lie in XCCs and are counted apart.
 *
 * Pure. Threads: any. No errors: what is not known is not counted, and said so.
 */
#ifndef KFDSHIM_OBSERVE_RATIO_H
#define KFDSHIM_OBSERVE_RATIO_H

#include "scheduler/kfd/topology.h"
#include "scheduler/observe/observe.h"

/* Of the queues of one GPU, or of all. */
struct ratio {
	uint32_t gpu_id;      /* 0: of all */
	uint32_t xccs;	      /* of that GPU; 0: not known, or not the same on all */
	uint32_t queues;      /* compute queues */
	uint32_t mapped;      /* of those, in a slot of some XCC now */
	uint32_t idle;	      /* in none: held, evicted, or it is another's turn */
	uint32_t torn;	      /* in some XCCs, but not in all of them */
	uint32_t least, most; /* HQDs of one that is mapped */
	uint64_t mqds, hqds;
	bool mqds_known, hqds_known; /* of every compute queue */
	uint32_t sdma_queues, sdma_hqds;
};

/*
 * `list`: a process' queues; OBSERVE_MQDS and OBSERVE_HQDS are read. gpus: of the machine;
 * may be none. Writes one for each GPU that has a queue, in the order of gpu_ids, at most
 * `max`, and *all. Their number.
 */
size_t ratio_of(const struct observe_list *list, const struct topology_gpu *gpus, size_t n_gpus,
		struct ratio *out, size_t max, struct ratio *all);

/* The same of what was seen of a process: by its MQDs, which are all of them, also where
 * nobody can say which queue id each has; without them by what others know. */
size_t ratio_of_observation(const struct observation *observation, const struct topology_gpu *gpus,
			    size_t n_gpus, struct ratio *out, size_t max, struct ratio *all);

/* "1:4": each queue that is mapped has so many active HQDs; "mixed": not all the same; "-":
 * none is mapped, or it is not known. Returns `text`. */
#define RATIO_TEXT 16
const char *ratio_text(char text[RATIO_TEXT], const struct ratio *ratio);

#endif
