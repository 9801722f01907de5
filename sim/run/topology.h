/* SPDX-License-Identifier: MIT */
/* What the world's sysfs says about the GPU: the KFD topology, the PCI device,
 * the driver module. Text in the tree (mounts.h), written once. */
#ifndef KFDSHIM_SIM_RUN_TOPOLOGY_H
#define KFDSHIM_SIM_RUN_TOPOLOGY_H

#include "sim/run/profile.h"

#define RENDER_MINOR 128

/* Returns an exit status, having said why (say.h). */
int topology_write(const struct profile *profile);

#endif
