/* SPDX-License-Identifier: MIT */
/*
 * KFD's RUNTIME_ENABLE. The driver suspends only processes that have enabled their runtime
 * (kfd_ioctl_set_debug_trap). ROCr does this in hsa_init() since 6.1; ROCr 5.2.3 uses an older call
 * that upstream kernels do not have. The driver refuses RUNTIME_ENABLE once a queue exists
 * (EEXIST), so the agent can do it in place of the runtime only within the first CREATE_QUEUE.
 */
#ifndef KFDSHIM_SHIM_RUNTIME_H
#define KFDSHIM_SHIM_RUNTIME_H

#include <stdint.h>

#include "channel/agent_abi.h"

/* Finds the address that RUNTIME_ENABLE passes to the driver (_amdgpu_r_debug), by a look-up of
 * symbols. To be called at the agent's start, which is the runtime's first ioctl. */
void runtime_find(void);
/* Before a CREATE_QUEUE on @gpu_id is forwarded: enables the runtime, if that has not been done and
 * driver and node support debugging. Any thread; keeps errno. */
void runtime_before_queue(const struct kfdshim_preload_iface *host, int fd, uint32_t gpu_id);
/* Handles and forwards a RUNTIME_ENABLE (enable or disable) of the runtime itself. Any thread.
 * Returns as ioctl(): 0, or -1 with errno. */
int runtime_ioctl(const struct kfdshim_preload_iface *host, int fd, unsigned long request,
		  void *arg);

/* In a fork child: forgets that the runtime was enabled, because the child's is not. */
void runtime_forget(void);

#endif
