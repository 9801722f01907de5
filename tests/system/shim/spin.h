/* SPDX-License-Identifier: MIT */
/*
 * kfdreplay's spin kernel through the HSA runtime, for workloads of tests: one
 * workgroup that lasts as long as it is told, on kfdsim as on a GPU.
 *
 * One kernel at a time: its arguments stand in one place. What fails ends the
 * process with 1 and a line on stderr.
 */
#ifndef KFDSHIM_TESTS_SPIN_H
#define KFDSHIM_TESTS_SPIN_H

#include <hsa/hsa.h>

/* Makes the kernel known to the GPU, which takes copies. Once a process. */
void spin_load(hsa_agent_t gpu);
/* Fills all of the packet but its header, whose value is returned: a dispatch of
 * `ms` milliseconds, with the barrier bit. */
uint16_t spin_packet(hsa_kernel_dispatch_packet_t *packet, unsigned ms, hsa_signal_t completion);

#endif
