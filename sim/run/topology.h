/* SPDX-License-Identifier: MIT */
/* What the world's sysfs says about the GPUs. Text in the tree (mounts.h),
 * written once, before the world starts. All return an exit status, having
 * said why (say.h). */
#ifndef KFDSHIM_SIM_RUN_TOPOLOGY_H
#define KFDSHIM_SIM_RUN_TOPOLOGY_H

#include "sim/run/machine.h"

#define VENDOR_AMD 0x1002u
#define SIMD_ID_BASE 2147487744u

/* All of it: the KFD topology, and what the next two write. */
int topology_write(const struct machine *machine);

/* caches.c: the caches of node `folder`, which is a GPU's, and how many. */
int caches_write(const struct machine *machine, unsigned folder);
unsigned caches_count(const struct machine *machine);

/* pci.c: the PCI and DRM devices, the driver's module. */
int pci_write(const struct machine *machine);

#endif
