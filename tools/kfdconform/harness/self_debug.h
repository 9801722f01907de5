/* SPDX-License-Identifier: MIT */
/*
 * Test fixture: a process that debugs itself, for the checks of SUSPEND, RESUME and the snapshots.
 * It has a device, an enabled runtime, queues, and a debug session in which the NEW exception of
 * the queues is cleared, so that they can be suspended. As in harness.h, a failure ends the check.
 * One thread.
 */
#ifndef KFDSHIM_TOOLS_KFDCONFORM_HARNESS_SELF_DEBUG_H
#define KFDSHIM_TOOLS_KFDCONFORM_HARNESS_SELF_DEBUG_H

#include "tools/kfdconform/harness/harness.h"

#define DESK_QUEUES 4u
#define DESK_INVALID KFDABI_QUEUE_INVALID
#define DESK_STANDS_MS 8u /* long enough to conclude that a barrier packet does not run */
#define DESK_RUNS_MS 2000u

struct desk {
	struct gpu_file gpu;
	struct raw_queue queues[DESK_QUEUES];
	struct signal *signals;
	unsigned sent;
	pid_t self;
};

/* Opens everything, with this number of AQL queues. */
void desk_open(struct desk *desk, unsigned queues);
/* Opens the device and enables the runtime only. */
void desk_prepare(struct desk *desk);
/* Opens the session. @subscribed: mask of the exceptions that are reported. */
void desk_enable(struct desk *desk, uint64_t subscribed);
/* Clears the NEW exception of all queues. */
void desk_collect(struct desk *desk);
/* SUSPEND_QUEUES and RESUME_QUEUES of the own process. Return the number of queues or a negative
 * errno; the driver marks unknown ids in the array. */
int desk_suspend(struct desk *desk, uint32_t *ids, uint32_t n);
int desk_resume(struct desk *desk, uint32_t *ids, uint32_t n);
/* Suspend or resume one queue and check that the driver counts it. */
void desk_suspend_one(struct desk *desk, const struct raw_queue *queue);
void desk_resume_one(struct desk *desk, const struct raw_queue *queue);
/* Calls any DBG_TRAP operation on the own process. Returns >= 0 or a negative errno. */
int desk_trap(struct desk *desk, struct kfdabi_dbg_trap *args, uint32_t op);

/* Submits a barrier packet and rings the doorbell. Returns its signal, which is 1 until the packet
 * has run, and then 0. */
struct signal *desk_send(struct desk *desk, struct raw_queue *queue);
/* The same without a doorbell. */
struct signal *desk_send_silently(struct desk *desk, struct raw_queue *queue);
/* Returns whether the packet runs within DESK_RUNS_MS. */
bool desk_done(struct signal *signal);
/* Returns whether the packet has not run after DESK_STANDS_MS. */
bool desk_stands(const struct desk *desk, struct signal *signal);
/* Submits a barrier packet and returns whether it runs. */
bool desk_runs(struct desk *desk, struct raw_queue *queue);
/* Suspends the queue in the middle of a dispatch. Returns the signal of the dispatch. *ms is set to
 * the run time in ms that is left at least, more than 40 % of the dispatch. If the dispatch cannot
 * be caught half way in 10 attempts, ends the check as "too busy". */
struct signal *desk_suspend_at_work(struct desk *desk, struct raw_queue *queue, double *ms);
/* UPDATE_QUEUE with the queue's ring or with none (address 0), and any percentage. Returns 0 or a
 * negative errno. */
int desk_update(struct desk *desk, const struct raw_queue *queue, bool ring, uint32_t percent);

/* Creates an SDMA queue. Its ring is filled with zeros, which are NOP packets. */
void desk_sdma(struct desk *desk, struct raw_queue *queue);
/* Submits an SDMA packet and rings the doorbell. */
void desk_sdma_put(struct raw_queue *queue, const uint32_t *packet, size_t bytes);
/* Submits a fence packet that writes `value` behind the read pointer, and rings the doorbell.
 * Returns where it is written. */
volatile int64_t *desk_fence(struct raw_queue *queue, uint32_t value);

#endif
