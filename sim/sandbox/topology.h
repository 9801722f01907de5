/* SPDX-License-Identifier: MIT */
/* The sysfs files of the simulated GPUs: text files in the tree (mounts.h) that are written
 * once, before the simulation starts. */
#ifndef KFDSHIM_SIM_SANDBOX_TOPOLOGY_H
#define KFDSHIM_SIM_SANDBOX_TOPOLOGY_H

#include "sim/sandbox/machine.h"

#define VENDOR_AMD 0x1002u
#define SIMD_ID_BASE 2147487744u

/* Writes all files: the KFD topology, and those of pci_write(). */
void topology_write(const struct machine *machine);

/* pci.c: writes the PCI and DRM devices and the driver's module. */
void pci_write(const struct machine *machine);

#endif
