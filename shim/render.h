/* SPDX-License-Identifier: MIT */
/* DRM user queues (Linux 6.16, AMDGPU_USERQ on a render node): queues that KFD
 * does not know, and that nobody can suspend. They are only seen. */
#ifndef KFDSHIM_SHIM_RENDER_H
#define KFDSHIM_SHIM_RENDER_H

#include <stdint.h>

#include "shim/queues.h"

/* The arguments of AMDGPU_USERQ, from include/uapi/drm/amdgpu_drm.h; the answer to
 * RENDER_CREATE is one word, the queue's id, in the place of `op`. */
#define RENDER_CREATE 1u
#define RENDER_FREE 2u
struct render_userq {
	uint32_t op, queue_id, ip_type;
	uint32_t doorbell_handle, doorbell_offset, flags;
	uint64_t ring, ring_bytes, rptr, wptr; /* addresses of the GPU */
};

/* The context under which the queues of this descriptor's node stand, apart from
 * KFD's: their ids are numbers of their own. 0: no render node of a KFD node,
 * whose gpu_id is *gpu_id. errno is kept. */
uint32_t render_context(int fd, uint32_t *gpu_id);
/* As queue_new. Its pointers are the GPU's and cannot be read here. */
struct queue *render_queue_new(uint32_t context, uint32_t gpu_id, uint32_t id,
			       const struct render_userq *args);

#endif
