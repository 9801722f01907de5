/* SPDX-License-Identifier: MIT */
/*
 * Interface to format the texts of debugfs (mqds, rls, mem_limit) from a copy of the driver's
 * state, in a separate thread.
 *
 * Threads: no lock is needed. Of `sim` the functions read only members that never change
 * (configuration, gpu_ids). Ownership: the caller owns the view and the text buffer.
 */
#ifndef KFDSHIM_SIM_DRIVER_DEBUGFS_TEXT_H
#define KFDSHIM_SIM_DRIVER_DEBUGFS_TEXT_H

#include "sim/driver/queue.h"

/* ---- queues as words ----
 * Describes a queue in 32-bit words, in the form of the driver's memory queue descriptor (MQD;
 * debugfs_text.c), or of the registers of a hardware queue slot (hardware queue descriptor, HQD;
 * debugfs_hqd.c).
 *
 * Layouts are those of gfx9 (struct v9_mqd and v9_sdma_mqd of the kernel). Values come from the
 * queue. Words for which the simulation has no value are 0. Addresses of the driver's own memory
 * are invented, but unique and in the range where the driver allocates.
 *
 * Purity: image_mqd() and image_sdma_mqd() are pure. image_of() reads the driver's state. None
 * allocates memory.
 */
#define MQD_WORDS 512u
#define SDMA_MQD_WORDS 128u
/* The registers of a hardware queue are words 128 to 183 of the MQD. */
#define HQD_FIRST 128u
#define HQD_WORDS 56u

/* Indexes of words in an MQD. A register of a hardware queue has the index minus HQD_FIRST. */
enum mqd_word {
	MQD_HEADER = 0,
	MQD_PIPELINESTAT_ENABLE = 11,
	MQD_PGM_RSRC2 = 20,
	MQD_THREAD_MGMT_SE0 = 23,
	MQD_THREAD_MGMT_SE1 = 24,
	MQD_THREAD_MGMT_SE2 = 26,
	MQD_THREAD_MGMT_SE3 = 27,
	MQD_THREAD_MGMT_SE4 = 39, /* 9.4.3: index of the XCC */
	MQD_THREAD_MGMT_SE5 = 40,
	/* 9.4.3: workgroups that go to one XCC before the next XCC gets some */
	MQD_THREAD_MGMT_SE6 = 41,
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

/* Copy of every property of a queue that a text in debugfs shows. */
struct queue_image {
	uint32_t node, gpu_id;
	uint32_t type; /* KFD_IOC_QUEUE_TYPE_* */
	uint32_t gfx;  /* gfx_target_version */
	uint32_t xccs, priority, save_bytes, ctl_stack_bytes, eop_bytes;
	uint32_t doorbell_dw; /* doorbell in the doorbell BAR, in dwords */
	uint32_t engine, rlc; /* SDMA queues: engine, and index of the queue in the engine */
	bool active, linux_7;
	uint64_t ring, ring_bytes, rptr_address, wptr_address, eop_address, save_address;
	uint64_t rptr_dw, wptr_dw;
	uint64_t mqd; /* address of the first XCC's MQD */
};

/* Fills *@out from the queue. The caller holds sim->lock. */
void image_of(const struct queue *queue, struct queue_image *out);
/* Fill in the MQD of a compute queue (for the XCC with index @xcc) or of an SDMA queue. */
void image_mqd(const struct queue_image *image, uint32_t xcc, uint32_t words[MQD_WORDS]);
void image_sdma_mqd(const struct queue_image *image, uint32_t words[SDMA_MQD_WORDS]);

/* ---- the texts ---- */
/* One process in a copy of the driver's state. */
struct debugfs_process {
	pid_t pid;
	uint32_t pasid;
	bool debugged;
	/* first: index of the process's newest queue in debugfs_view.queues, where older ones
	 * follow; n: number of these queues */
	size_t first, n;
};

/* The copy of the driver's state from which the texts are made. */
struct debugfs_view {
	struct debugfs_process *processes; /* oldest first */
	struct queue_image *queues;
	size_t n_processes, cap_processes, n_queues, cap_queues;
	uint64_t gtt_used;
};

/* A text buffer that grows as needed. Begin with all zero; the caller frees `at` at the end. */
struct debugfs_text {
	char *at;
	size_t n, cap;
	bool failed;	 /* out of memory: text_write() does not write the text */
	bool complained; /* a failure was logged, so that later ones are not */
};

/* Write the text of the debugfs file mqds, rls or mem_limit into the buffer, in place of its old
 * text. If memory runs out, `failed` is set. */
void text_mqds(struct debugfs_text *text, const struct sim *sim, const struct debugfs_view *view);
void text_rls(struct debugfs_text *text, const struct sim *sim, const struct debugfs_view *view);
void text_mem_limit(struct debugfs_text *text, const struct sim *sim,
		    const struct debugfs_view *view);
/* Writes the text to a temporary file in the directory @dir and renames it to @name, so that a
 * reader never sees a part of it. A failure is logged once for each buffer. */
void text_write(struct debugfs_text *text, int dir, const char *name, unsigned mode);

#endif
