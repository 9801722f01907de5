/* SPDX-License-Identifier: MIT */
/* DRM user queues (Linux 6.16, AMDGPU_USERQ on a render node). KFD has no record of them, so they
 * cannot be suspended; they are listed only. */
#ifndef KFDSHIM_SHIM_DRM_USERQ_H
#define KFDSHIM_SHIM_DRM_USERQ_H

#include <stdint.h>

#include "shim/queue_table.h"

/* Arguments of AMDGPU_USERQ (include/uapi/drm/amdgpu_drm.h). RENDER_CREATE returns one word, the
 * queue's id, in the place of `op`. */
#define RENDER_CREATE 1u
#define RENDER_FREE 2u
struct render_userq {
	uint32_t op, queue_id, ip_type;
	uint32_t doorbell_handle, doorbell_offset, flags;
	uint64_t ring, ring_bytes, rptr, wptr; /* GPU addresses; ring_bytes in bytes */
};

/* Returns the context number under which user queues of the render node behind @fd are listed. No
 * KFD context has this number, because a user queue and a KFD queue can have the same id. Sets
 * *gpu_id to the node's gpu_id. Returns 0 if @fd is not the render node of a KFD node. Keeps
 * errno. */
uint32_t render_context(int fd, uint32_t *gpu_id);
/* Creates a struct shim_queue for a user queue, as shim_queue_new() does for a KFD queue. Its
 * pointers are GPU addresses and cannot be read here. Returns NULL if memory is short. */
struct shim_queue *render_queue_new(uint32_t context, uint32_t gpu_id, uint32_t id,
				    const struct render_userq *args);

#endif
