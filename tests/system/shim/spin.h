/* SPDX-License-Identifier: MIT */
/*
 * kfdreplay's spin kernel through the HSA runtime, for the workloads of tests: one workgroup that
 * runs for a given time, on kfdsim as on a GPU.
 *
 * One kernel at a time, because all use the same arguments. An error ends the process with 1 and a
 * line on standard error.
 */
#ifndef KFDSHIM_TESTS_SPIN_H
#define KFDSHIM_TESTS_SPIN_H

#include <hsa/hsa.h>

/* Loads the kernel for the GPU, which makes copies. Called once in a process. */
void spin_load(hsa_agent_t gpu);
/* Fills the packet except its header, and returns the header's value: a dispatch of `ms`
 * milliseconds with the barrier bit. */
uint16_t spin_packet(hsa_kernel_dispatch_packet_t *packet, unsigned ms, hsa_signal_t completion);

#endif
