/* SPDX-License-Identifier: MIT */
/*
 * Reads the driver's topology in sysfs. A node that the device cgroup hides from this process
 * counts as absent. Calls that read files may be made when a queue is created, but not in a hook
 * that runs often. Any thread; errno is not kept.
 */
#ifndef KFDSHIM_SHIM_TOPOLOGY_H
#define KFDSHIM_SHIM_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the node's `capability` property, or 0 if there is no such node. Reads files. */
uint32_t topology_capability(uint32_t gpu_id);
/* Returns true if queues can be taken off the GPU, that is, if the driver saves running waves
 * (kfd/topology.h). The first call reads files, and logs if the driver does not; later calls cost
 * nothing. */
bool topology_saves_waves(void);
/* Returns the gpu_id of the node whose render node has this minor number, or 0 if there is none.
 * Reads files until the node is found; later calls cost nothing. */
uint32_t topology_gpu_of_render(unsigned minor);
/* Returns the context number under which user queues of the render node behind @fd are listed. No
 * KFD context has this number, because a user queue and a KFD queue can have the same id. Sets
 * *gpu_id to the node's gpu_id. Returns 0 if @fd is not the render node of a KFD node. Keeps
 * errno. */
uint32_t render_context(int fd, uint32_t *gpu_id);
/* Forgets the render nodes, in a fork child: the child uses no GPU, so the GPUs may be partitioned
 * anew while it runs. */
void topology_forget(void);

#endif
