/* SPDX-License-Identifier: MIT */
/*
 * An open file of a render node: its GPU address space and what it holds by
 * number (buffers, contexts, lists, synchronisation objects).
 */
#ifndef KFDSHIM_SIM_KFD_DRM_FILE_H
#define KFDSHIM_SIM_KFD_DRM_FILE_H

#include "sim/kfd/kfd.h"

/* Things with a number; the lowest free one from 1 is given. */
struct numbered {
	void **things;
	size_t n;
};

struct drm_file {
	LIST_ENTRY(drm_file) link; /* world->drm_files, until its process has ended */
	struct world *world;
	uint64_t token; /* its file position */
	uint32_t node;
	pid_t pid; /* of the process that used it first */
	int pidfd;
	unsigned refs;
	const struct process *computes; /* has acquired it; for comparison only */
	struct space space;
	struct numbered gems;	  /* struct pages, one reference each */
	struct numbered contexts; /* uint8_t: nothing to know of one */
	struct numbered lists;
	struct numbered syncobjs; /* struct syncobj */
};

/* gem.c: buffers by handle, and their mapping. Ioctls of the render node. */
int gem_create(struct call *call, struct drm_file *file);
int gem_mmap(struct call *call, struct drm_file *file);
int gem_va(struct call *call, struct drm_file *file);
int gem_close(struct call *call, struct drm_file *file);
int gem_op(struct call *call, struct drm_file *file);
int gem_metadata(struct call *call, struct drm_file *file);
int gem_userptr(struct call *call, struct drm_file *file);
int gem_wait_idle(struct call *call, struct drm_file *file);
int prime_handle_to_fd(struct call *call, struct drm_file *file);
int prime_fd_to_handle(struct call *call, struct drm_file *file);
void gem_release(struct drm_file *file); /* everything the file holds */

/* drm_info.c */
int drm_info(struct call *call);

/* A free number for the thing, from 1; -ENOMEM. */
int number_take(struct numbered *numbered, void *thing);
void *number_find(const struct numbered *numbered, uint64_t number);
void *number_give(struct numbered *numbered, uint64_t number); /* what it was; NULL: free */

#endif
