/* SPDX-License-Identifier: MIT */
/*
 * A queue as the driver and the hardware describe it in words: memory queue
 * descriptors (image.c), runlists (runlist.c), hardware queue descriptors (hqd.c).
 *
 * Layouts are those of gfx9 (struct v9_mqd and v9_sdma_mqd of the kernel, its
 * packets for the scheduling firmware); values come from the queue. What the
 * simulation has no value for is 0. Addresses of the driver's own memory are
 * made up: unique, and in the range where the driver puts it.
 *
 * Pure but for image_of(), which reads the world; no function allocates.
 */
#ifndef KFDSHIM_SIM_KFD_IMAGE_H
#define KFDSHIM_SIM_KFD_IMAGE_H

#include "sim/kfd/kfd.h"

#define MQD_WORDS 512u
#define SDMA_MQD_WORDS 128u
/* The registers of a hardware queue are words 128 to 183 of the descriptor. */
#define HQD_FIRST 128u
#define HQD_WORDS 56u

/* Words of a descriptor; of a hardware queue less HQD_FIRST. */
enum mqd_word {
	MQD_HEADER = 0,
	MQD_PIPELINESTAT_ENABLE = 11,
	MQD_PGM_RSRC2 = 20,
	MQD_THREAD_MGMT_SE0 = 23,
	MQD_THREAD_MGMT_SE1 = 24,
	MQD_THREAD_MGMT_SE2 = 26,
	MQD_THREAD_MGMT_SE3 = 27,
	MQD_THREAD_MGMT_SE4 = 39, /* 9.4.3: number of the XCC */
	MQD_THREAD_MGMT_SE5 = 40,
	MQD_THREAD_MGMT_SE6 = 41, /* 9.4.3: workgroups an XCC takes in turn */
	MQD_THREAD_MGMT_SE7 = 42,
	MQD_BASE = 128,
	MQD_ACTIVE = 130,
	MQD_VMID = 131,
	MQD_PERSISTENT_STATE = 132,
	MQD_PIPE_PRIORITY = 133,
	MQD_QUEUE_PRIORITY = 134,
	MQD_QUANTUM = 135,
	MQD_PQ_BASE = 136,
	MQD_PQ_RPTR = 138,
	MQD_RPTR_REPORT = 139,
	MQD_WPTR_POLL = 141,
	MQD_DOORBELL_CONTROL = 143,
	MQD_PQ_CONTROL = 145,
	MQD_IB_CONTROL = 149,
	MQD_CONTROL = 162,
	MQD_EOP_BASE = 165,
	MQD_EOP_CONTROL = 167,
	MQD_SAVE_BASE = 171,
	MQD_CNTL_STACK_OFFSET = 174,
	MQD_CNTL_STACK_SIZE = 175,
	MQD_WG_STATE_OFFSET = 176,
	MQD_SAVE_SIZE = 177,
	MQD_AQL_CONTROL = 181,
	MQD_PQ_WPTR = 182,
};

/* Everything of a queue that any of the texts tells. */
struct queue_image {
	uint32_t node, gpu_id;
	uint32_t type; /* KFD_IOC_QUEUE_TYPE_* */
	uint32_t gfx;  /* gfx_target_version */
	uint32_t xccs, priority, save_bytes, ctl_stack_bytes, eop_bytes;
	uint32_t doorbell_dw; /* in the doorbell BAR */
	uint32_t engine, rlc; /* SDMA */
	bool active, linux_7;
	uint64_t ring, ring_bytes, rptr_address, wptr_address, eop_address, save_address;
	uint64_t rptr_dw, wptr_dw;
	uint64_t mqd; /* of the first XCC */
};

void image_of(const struct queue *queue, struct queue_image *out);
/* Is that a queue of an SDMA engine? */
bool image_sdma(uint32_t type);
/* From one XCC's descriptor to the next one's, in bytes. */
uint64_t image_stride(const struct queue_image *image);
void image_mqd(const struct queue_image *image, uint32_t xcc, uint32_t words[MQD_WORDS]);
void image_sdma_mqd(const struct queue_image *image, uint32_t words[SDMA_MQD_WORDS]);

/* runlist.c: what the driver gives to the scheduling firmware. */
struct runlist_process {
	uint32_t pasid, n_queues; /* of this node, active or not */
	bool debugged;
};
#define RUNLIST_PROCESS_WORDS 21u /* the longer of the two forms */
#define RUNLIST_QUEUE_WORDS 7u
#define RUNLIST_CHAIN_WORDS 4u
/* They return how many words they wrote. */
uint32_t runlist_map_process(uint32_t *words, const struct runlist_process *process, uint32_t gfx);
uint32_t runlist_map_queue(uint32_t *words, const struct queue_image *image);
/* A list that does not fit is chained to itself: `n` words long, of so many processes. */
uint32_t runlist_chain(uint32_t *words, uint32_t n, uint32_t processes);

#endif
