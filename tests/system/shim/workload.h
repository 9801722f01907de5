/* SPDX-License-Identifier: MIT */
/*
 * Inside the test's workload: what it works with, and each way in which a program
 * can tell the runtime of work, one by one. Who is called for an order answers it.
 */
#ifndef KFDSHIM_TESTS_WORKLOAD_H
#define KFDSHIM_TESTS_WORKLOAD_H

#include <hsa/hsa.h>

extern hsa_agent_t gpu;
extern hsa_queue_t *queue;
extern hsa_signal_t last; /* completion signal of what was submitted last */

/* Ends the process with 1, and says so to who gave the order. */
void must(hsa_status_t status, const char *what);

#define RESERVE_WAYS 17
#define COPY_WAYS 3
/* "reserve WAY": takes a slot, by each function that can. "publish": fills it with a
 * barrier, rings, and waits for its end. */
void way_reserve(int way);
void way_publish(int n);
/* "bell WAY": a barrier that the doorbell is the first to tell of; 0: by
 * hsa_signal_store_screlease, 1: by _relaxed, 2: by _release, its name of HSA 1.0. */
#define BELL_WAYS 3
void way_bell(int way);
/* "work MS": a kernel that lasts so long, and nothing is waited for. */
void way_work(int ms);
/* "jump N": one packet that jumps to a buffer of N kernels, at most 2300, one after the
 * other; by memory alone, so that no hook sees it. */
void way_jump(int kernels);
/* "copy WAY": the host to the device; 0: hsa_amd_memory_async_copy, 1: _rect, 2:
 * _on_engine, which an old runtime has not: "none". */
void way_copy(int way);
#define AWAIT_WAYS 6
/* "await WAY": waits for `last`; 0: by hsa_signal_wait_scacquire, 1: by _relaxed; from 2 on by a load again
 * and again: hsa_signal_load_relaxed, _scacquire, _acquire; 5: by hsa_signal_wait_acquire, of HSA 1.0. */
void way_await(int way);

#endif
