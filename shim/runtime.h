/* SPDX-License-Identifier: MIT */
/*
 * KFD's RUNTIME_ENABLE: only a process that has announced its runtime can be
 * suspended (kfd_ioctl_set_debug_trap). ROCr since 6.1 does it in hsa_init;
 * ROCr 5.2.3 asks with an older call that upstream kernels do not know. The
 * driver refuses it once a queue exists (EEXIST), so the last moment for doing
 * it in the runtime's place is inside the first CREATE_QUEUE.
 */
#ifndef KFDSHIM_SHIM_RUNTIME_H
#define KFDSHIM_SHIM_RUNTIME_H

#include <stdint.h>

#include "channel/lane.h"
#include "preload/agent.h"

/* At the agent's start, which comes with the runtime's first ioctl: what RUNTIME_ENABLE is to name. It
 * looks up symbols. */
void runtime_find(void);
/* Before a CREATE_QUEUE on gpu_id goes to the driver: announces the runtime if
 * nobody has, and the driver and the node can debug. Keeps errno. */
void runtime_before_queue(const struct kfdshim_host *host, int fd, uint32_t gpu_id);
/* RUNTIME_ENABLE by the runtime itself; forwards it, in place of the host. */
int runtime_ioctl(const struct kfdshim_host *host, int fd, unsigned long request, void *arg);

/* What the lane is told; *reason is an errno or 0. */
void runtime_state(enum lane_runtime *state, int *reason);

/* Fork child. */
void runtime_forget(void);

#endif
