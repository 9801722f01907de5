/* SPDX-License-Identifier: MIT */
/*
 * Counts how much VRAM this process has allocated on each node, and enforces KFDSHIM_VRAM_LIMIT,
 * which applies to each node separately.
 *
 * The count follows the driver's own (kfd_chardev.c, the `vram_<gpuid>` of sysfs):
 * ALLOC_MEMORY_OF_GPU with the VRAM flag, in whole pages; AQL queue memory counts half of its size,
 * because it is mapped twice. An imported dmabuf counts for the process that allocated it. Memory
 * that the driver allocates by other calls (SVM ranges, DRM buffers) is neither counted nor
 * limited.
 *
 * Threads: any. One lock, which is not held while a call is forwarded to the driver. The agent's
 * lock is taken within it, never before it.
 */
#ifndef KFDSHIM_SHIM_VRAM_LIMIT_H
#define KFDSHIM_SHIM_VRAM_LIMIT_H

#include <stdint.h>

#include "channel/agent_abi.h"

/* Forwards an ALLOC_MEMORY_OF_GPU and counts what it allocates. An allocation beyond the limit is
 * not forwarded and fails with ENOMEM, as on a full node. Returns as ioctl(): 0, or -1 with
 * errno. */
int vram_alloc(const struct kfdshim_preload_iface *host, int fd, unsigned long request, void *arg);
/* Forwards a FREE_MEMORY_OF_GPU and subtracts the freed VRAM from the count. Returns as ioctl(). */
int vram_free(const struct kfdshim_preload_iface *host, int fd, unsigned long request, void *arg);

/* Subtracts the VRAM of an ended KFD context from what is counted. Not under the agent's lock. */
void vram_context_ended(uint32_t context);

/* Publishes the allocated VRAM of all nodes in the client's shared memory. Under the agent's
 * lock. */
void vram_publish(void);

/* Sets the counted VRAM to 0 in a fork child, because the memory is the parent's. */
void vram_forget(void);

#endif
