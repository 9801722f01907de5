// SPDX-License-Identifier: MIT
#include "shim/drm_userq.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/topology.h"

#define CONTEXT_FIRST 0x10000u /* above the context numbers of KFD (kfd_context.h) */

uint32_t render_context(int fd, uint32_t *gpu_id)
{
	char path[64], name[64] = "";
	int saved = errno;
	unsigned minor;
	ssize_t n;

	*gpu_id = 0;
	/* Not /proc/self, which is the first thread: it may have ended. */
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	if (n > 0 && sscanf(name, "/dev/dri/renderD%u", &minor) == 1)
		*gpu_id = topology_gpu_of_render(minor);
	errno = saved;
	return *gpu_id ? CONTEXT_FIRST + minor : 0;
}

struct shim_queue *render_queue_new(uint32_t context, uint32_t gpu_id, uint32_t id,
				    const struct render_userq *args)
{
	struct shim_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->context = context;
	q->id = id;
	q->gpu_id = gpu_id;
	q->type = CLIENT_SHM_TYPE_DRM;
	q->ring = q->update_ring = args->ring;
	q->ring_bytes = q->update_bytes = args->ring_bytes;
	q->rptr = (const uint64_t *)(uintptr_t)args->rptr;
	q->wptr = (const uint64_t *)(uintptr_t)args->wptr;
	q->percent = 100;
	q->read_via_kernel = true;
	return q;
}
