/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether the driver can save running waves (CWSR). Where it cannot, the driver waits for
 * running kernels to end whenever it takes queues off a GPU, and resets the GPU if that takes
 * longer than queue_preemption_timeout_ms (9 s). So queues must not be suspended there.
 *
 * amdgpu.cwsr_enable=0 disables CWSR for all GPUs (a common workaround on gfx11 parts). A driver
 * that does not use it on one GPU reports `cwsr_size 0` for that GPU in the topology. Drivers
 * before Linux 7.0 do not report the size, so its absence has no meaning.
 *
 * Threads: any. Opens and reads files; allocates nothing; does not keep errno.
 */
#ifndef KFDSHIM_COMMON_CWSR_H
#define KFDSHIM_COMMON_CWSR_H

#include <stdbool.h>

#define CWSR_WHY 96 /* bytes of a reason */

/* Returns true if waves cannot be saved on one of the GPUs that this process is allowed to see, and
 * writes the reason to `why`. Returns false also if the driver does not show whether it can save
 * them. */
bool cwsr_is_missing(char why[static CWSR_WHY]);

#endif
