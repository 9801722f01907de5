/* SPDX-License-Identifier: MIT */
/*
 * What the texts of debugfs kfd/mqds and kfd/hqds say of queues.
 *
 * Formats: kfd_debugfs_mqds_by_process, pqm_debugfs_mqds, kfd_debugfs_hqds_by_device and
 * dqm_debugfs_hqds of Linux 5.0 to 7.x (one XCC's slots were not numbered before 6.5).
 * Words of descriptors and registers: struct v9_mqd and v9_sdma_mqd, and the dumps of
 * amdgpu_amdkfd_gfx_v9.c, so of gfx9 alone (gfx900 to gfx950). Of other generations no more
 * is told than that there is a queue: its GPU, its engine.
 *
 * A text that is not what the driver writes, or that ends early, is -EBADMSG with a sentence
 * that names the line; what stood before it is in the list all the same. So it is with
 * -EOPNOTSUPP: a GPU of another generation. -ENOMEM as usual.
 *
 * Pure. Threads: any, one at a time for each list.
 */
#ifndef KFDSHIM_OBSERVE_DEBUGFS_H
#define KFDSHIM_OBSERVE_DEBUGFS_H

#include <sys/types.h>

#include "scheduler/kfd/topology.h"
#include "scheduler/observe/observe.h"

struct debugfs_text {
	const char *at; /* need not end in a null byte */
	size_t bytes;
	const struct topology_gpu *gpus; /* of the machine that wrote it */
	size_t n_gpus;
};

/*
 * Adds the queues of that process (the driver's number), without ids, newest first as they
 * stand there. -ENOENT: it is not in there. OBSERVE_MQDS: a compute queue has a descriptor
 * for each XCC; one of SDMA has one, however many times a multi-XCC driver dumps it. The
 * read and write pointers in a descriptor are from when the queue was unmapped last, so
 * they are not told. The priority is told where it is written: before Linux 7.2.
 */
int debugfs_mqds(const struct debugfs_text *text, pid_t pid, struct observe_list *out,
		 char why[static OBSERVE_WHY]);

/* A hardware slot that KFD owns, as its registers stand. */
struct debugfs_slot {
	uint32_t gpu_id;
	uint32_t xcc;
	enum observe_type type; /* AQL, PM4, SDMA or XGMI; of a slot in use */
	uint32_t pipe, queue;	/* of SDMA: engine and RLC */
	bool active;		/* what follows means something only then */
	uint32_t vmid;
	uint32_t doorbell; /* offset in bytes in the GPU's doorbells */
	uint64_t ring;
};
/* Calls `see` for each, in their order; the driver's own queue (HIQ) is none. */
int debugfs_slots(const struct debugfs_text *text,
		  void (*see)(void *arg, const struct debugfs_slot *slot), void *arg,
		  char why[static OBSERVE_WHY]);

/*
 * Adds an entry for each ring that is active: OBSERVE_HQDS its slots, with its doorbell, by
 * which two processes' rings of one address are told apart. Read and write pointers are
 * told by nobody but the process's own memory: a slot's are of one XCC, and may be cut to
 * the ring.
 */
int debugfs_hqds(const struct debugfs_text *text, struct observe_list *out,
		 char why[static OBSERVE_WHY]);

#endif
