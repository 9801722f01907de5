/* SPDX-License-Identifier: MIT */
/*
 * The parts of the test's workload: its agent and queue, and each function with which a program can
 * announce work to the runtime. The function for an order also prints its answer.
 */
#ifndef KFDSHIM_TESTS_WORKLOAD_H
#define KFDSHIM_TESTS_WORKLOAD_H

#include <hsa/hsa.h>

extern hsa_agent_t gpu;
extern hsa_queue_t *queue;
extern hsa_signal_t last; /* completion signal of the last submission */

/* Checks a result of the runtime. On an error ends the process with 1 and reports it as the
 * answer. */
void must(hsa_status_t status, const char *what);

#define RESERVE_WAYS 17
#define COPY_WAYS 3
/* "reserve WAY": reserves a slot, by each of the functions that can. "publish": fills it with a
 * barrier, rings, and waits for its end. */
void way_reserve(int way);
void way_publish(int n);
/* "bell WAY": a barrier whose first sign is the doorbell; 0: by hsa_signal_store_screlease, 1: by
 * _relaxed, 2: by _release, its name in HSA 1.0. */
#define BELL_WAYS 3
void way_bell(int way);
/* "work MS": a kernel of this length; does not wait for it. */
void way_work(int ms);
/* "jump N": one packet that jumps to a buffer of N kernels, at most 2300, one after the other. It
 * is submitted by stores to memory only, so that no hook sees it. */
void way_jump(int kernels);
/* "copy WAY": from the host to the device; 0: hsa_amd_memory_async_copy, 1: _rect, 2: _on_engine,
 * for which the answer is "none" if the runtime is too old. */
void way_copy(int way);
#define AWAIT_WAYS 6
/* "await WAY": waits for `last`; 0: by hsa_signal_wait_scacquire, 1: by _relaxed; 2 to 4: by
 * repeated loads, hsa_signal_load_relaxed, _scacquire, _acquire; 5: by hsa_signal_wait_acquire of
 * HSA 1.0. */
void way_await(int way);

#endif
