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

#include "sim/driver/mqd.h"

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
