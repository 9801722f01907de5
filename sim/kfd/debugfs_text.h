/* SPDX-License-Identifier: MIT */
/*
 * The texts of debugfs, made from a copy of the world by a thread of its own.
 * Of `world` only what never changes is looked at (configuration, gpu_ids).
 */
#ifndef KFDSHIM_SIM_KFD_DEBUGFS_TEXT_H
#define KFDSHIM_SIM_KFD_DEBUGFS_TEXT_H

#include "sim/kfd/image.h"

struct debugfs_process {
	pid_t pid;
	uint32_t pasid;
	bool debugged;
	size_t first, n; /* of its queues, newest first */
};

struct debugfs_view {
	struct debugfs_process *processes; /* oldest first */
	struct queue_image *queues;
	size_t n_processes, cap_processes, n_queues, cap_queues;
	uint64_t gtt_used;
};

/* Grows as it is written; `at` is the caller's to free. */
struct debugfs_text {
	char *at;
	size_t n, cap;
	bool failed;	 /* no memory: it is not written */
	bool complained; /* once is enough */
};

/* Each begins anew. */
void text_mqds(struct debugfs_text *text, const struct world *world,
	       const struct debugfs_view *view);
void text_rls(struct debugfs_text *text, const struct world *world,
	      const struct debugfs_view *view);
void text_mem_limit(struct debugfs_text *text, const struct world *world,
		    const struct debugfs_view *view);
/* Replaces the file as a whole. */
void text_write(struct debugfs_text *text, int dir, const char *name, unsigned mode);

#endif
