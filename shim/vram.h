/* SPDX-License-Identifier: MIT */
/*
 * Device memory of this process: how much of it each node has given, and the
 * limit of KFDSHIM_VRAM_LIMIT, which holds for each node by itself.
 *
 * Counted is what the driver counts for this process (kfd_chardev.c, the
 * `vram_<gpuid>` of sysfs): ALLOC_MEMORY_OF_GPU with the VRAM flag, in whole
 * pages, half of it for AQL queue memory, which is mapped twice. An imported
 * dmabuf costs whoever allocated it. Memory that the driver gives by other ways
 * (SVM ranges, DRM buffers) is neither counted nor limited.
 *
 * Any thread; one lock, held for memory accesses alone, never with the agent's
 * lock taken before it.
 */
#ifndef KFDSHIM_SHIM_VRAM_H
#define KFDSHIM_SHIM_VRAM_H

#include <stdint.h>

#include "preload/agent.h"

/* Forward the call, but an allocation beyond the limit: ENOMEM, as of a full
 * node, and the driver never learns of it. */
int vram_alloc(const struct kfdshim_host *host, int fd, unsigned long request, void *arg);
int vram_free(const struct kfdshim_host *host, int fd, unsigned long request, void *arg);

/* A context has ended, and its memory with it. Not with the agent's lock. */
void vram_context_ended(uint32_t context);

/* Under the agent's lock: all nodes' bytes into the lane. */
void vram_publish(void);

/* Fork child: the memory is its parent's. */
void vram_forget(void);

#endif
