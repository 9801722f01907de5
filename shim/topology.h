/* SPDX-License-Identifier: MIT */
/*
 * The driver's topology in sysfs: what a node says of itself. A node that the device
 * cgroup keeps from this process is as if it were not there. Each call opens and
 * reads files: for the creation of a queue, not for a hook. Any thread; errno is not
 * kept.
 */
#ifndef KFDSHIM_SHIM_TOPOLOGY_H
#define KFDSHIM_SHIM_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

/* The node's `capability`; 0: no such node. */
uint64_t topology_capability(uint32_t gpu_id);
/* May queues be taken off the GPU, that is, does the driver save running waves (common/cwsr.h)? Read at
 * the first call, which says so if it does not; later ones cost nothing. */
bool topology_saves_waves(void);
/* The gpu_id of the node whose render node has this minor number; 0: none. */
uint32_t topology_gpu_of_render(unsigned minor);

#endif
