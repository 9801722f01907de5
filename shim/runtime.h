/* SPDX-License-Identifier: MIT */
/*
 * Enables the HSA runtime in the driver by RUNTIME_ENABLE, because the driver suspends only
 * processes that have done so (kfd_ioctl_set_debug_trap). ROCr does this in hsa_init() since 6.1;
 * ROCr 5.2.3 uses an older call that upstream kernels do not have. The driver refuses
 * RUNTIME_ENABLE once a queue exists (EEXIST), so the agent can do it in place of the runtime only
 * within the first CREATE_QUEUE.
 */
#ifndef KFDSHIM_SHIM_RUNTIME_H
#define KFDSHIM_SHIM_RUNTIME_H

#include <stdint.h>

#include "channel/agent_abi.h"

/* Finds the address that RUNTIME_ENABLE passes to the driver, by a look-up of the symbol
 * _amdgpu_r_debug. To be called at the agent's start, which is at the runtime's first ioctl. */
void runtime_find(void);
/* Enables the runtime in the driver, unless it is enabled already, or driver or node do not support
 * debugging. To be called before a CREATE_QUEUE on @gpu_id is forwarded. Any thread; keeps
 * errno. */
void runtime_before_queue(const struct kfdshim_preload_iface *host, int fd, uint32_t gpu_id);
/* Handles and forwards a RUNTIME_ENABLE (enable or disable) of the runtime itself. Any thread.
 * Returns as ioctl(): 0, or -1 with errno. */
int runtime_ioctl(const struct kfdshim_preload_iface *host, int fd, unsigned long request,
		  void *arg);

/* Forgets in a fork child that the runtime was enabled, because the child's runtime is not. */
void runtime_forget(void);

#endif
