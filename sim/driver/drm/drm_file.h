/* SPDX-License-Identifier: MIT */
/*
 * Interface of an open file of a render node, which has a GPU page table and holds objects by
 * number (buffers, contexts, lists).
 *
 * Threads: all functions under sim->lock. Errors: negative errno.
 */
#ifndef KFDSHIM_SIM_DRIVER_DRM_DRM_FILE_H
#define KFDSHIM_SIM_DRIVER_DRM_DRM_FILE_H

#include "sim/driver/memory.h"
#include "sim/driver/process.h"

/* Objects by number; a new one gets the lowest free number, from 1 on. */
struct numbered {
	void **things;
	size_t n;
};

/* One open file, as used on one node. Freed when the last reference is dropped. One reference is
 * dropped when the process that used the file first has ended, one by the KFD process that has
 * acquired it. */
struct drm_file {
	LIST_ENTRY(drm_file) link; /* in sim->drm_files until the process has ended */
	struct sim *sim;
	uint64_t token; /* file position that identifies the open file (drm_file.c) */
	uint32_t node;
	pid_t pid; /* process that used the file first */
	int pidfd;
	unsigned refs;
	/* process that acquired the file (ACQUIRE_VM); only compared, never dereferenced */
	const struct process *computes;
	struct space space;
	struct numbered gems;	  /* struct pages, with one reference each */
	struct numbered contexts; /* nothing is stored for a context */
	struct numbered lists;
};

/* ---- gem.c: ioctls on buffers by handle, and their mapping ---- */
/* GEM_CREATE: allocates a buffer; if VRAM is full and GTT is allowed, in GTT. Returns 0; -EINVAL:
 * size 0 or bad domains; -ENOMEM. */
int gem_create(struct call *call, struct drm_file *file);
/* GEM_MMAP: returns the offset for mmap(). -ENOENT: unknown handle. -EPERM: memory of the process
 * (GEM_USERPTR), or created without CPU access. -EINVAL: pages of another node. */
int gem_mmap(struct call *call, struct drm_file *file);
/* GEM_VA: maps, unmaps, replaces or clears a range of the file's page table. Returns 0; -EINVAL:
 * bad range or flags; -ENOENT: unknown handle, or not mapped; -ENOMEM. */
int gem_va(struct call *call, struct drm_file *file);
/* GEM_CLOSE: unmaps the buffer and drops its handle. Returns 0, or -EINVAL for an unknown
 * handle. */
int gem_close(struct call *call, struct drm_file *file);
/* GEM_OP: returns the size and domains with which the buffer was created, or accepts a new
 * placement, which has no effect. Returns 0; -ENOENT: unknown handle; -EPERM: placement of memory
 * of the process; -EINVAL: unknown operation; -EFAULT. */
int gem_op(struct call *call, struct drm_file *file);
/* GEM_METADATA: stores or returns metadata of at most 256 bytes. Returns 0; -ENOENT: unknown
 * handle; -EINVAL; -ENOMEM. */
int gem_metadata(struct call *call, struct drm_file *file);
/* GEM_USERPTR: creates a handle to memory of the process. Returns 0; -EINVAL: not in whole pages;
 * -EFAULT: no memory there; -ENOMEM. */
int gem_userptr(struct call *call, struct drm_file *file);
/* GEM_WAIT_IDLE: returns at once, because no buffer is ever busy. -ENOENT: unknown handle. */
int gem_wait_idle(struct call *call, struct drm_file *file);
/* PRIME_HANDLE_TO_FD: gives the caller a dmabuf fd of the buffer (gem.c). Returns 0; -EINVAL:
 * bad flags; -ENOENT: unknown handle; -EPERM: memory of the process; another negative errno. */
int prime_handle_to_fd(struct call *call, struct drm_file *file);
/* PRIME_FD_TO_HANDLE: returns the handle of a dmabuf's pages, the existing one if there is one.
 * Returns 0; -EBADF; -EINVAL: no dmabuf; -ENOMEM. */
int prime_fd_to_handle(struct call *call, struct drm_file *file);
/* Drops all buffers, contexts and lists that the file holds. */
void gem_release(struct drm_file *file);

/* Stores @thing under the lowest free number. Returns the number (from 1), or -ENOMEM. */
int number_take(struct numbered *numbered, void *thing);
/* Returns the object with this number, or NULL. */
void *number_find(const struct numbered *numbered, uint64_t number);
/* Frees the number. Returns the object that was stored under it, or NULL if it was free. */
void *number_give(struct numbered *numbered, uint64_t number);

#endif
