/* SPDX-License-Identifier: MIT */
/*
 * Can the driver save running waves (CWSR)? Where it cannot, it waits for running kernels to end
 * whenever it takes queues off a GPU, and resets the GPU when that takes longer than
 * queue_preemption_timeout_ms (9 s): then nothing may suspend queues.
 *
 * amdgpu.cwsr_enable=0 switches it off for all GPUs (a common workaround on gfx11 parts), and a driver
 * that does not use it on a GPU says so by `cwsr_size 0` in the topology. Drivers before Linux 7.0 do
 * not name the size, so its absence means nothing.
 *
 * Threads: any. Opens and reads files; allocates nothing; errno is not kept.
 */
#ifndef KFDSHIM_COMMON_CWSR_H
#define KFDSHIM_COMMON_CWSR_H

#include <stdbool.h>
#include <stddef.h>

#define CWSR_WHY 96 /* room for the sentence */

/* Of one of the GPUs that this process may see. true: it cannot, and why. false also where neither
 * file can be read. */
bool cwsr_is_missing(char why[static CWSR_WHY]);

#endif
