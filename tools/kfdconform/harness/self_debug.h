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

#define SELF_DEBUG_QUEUES 4u
#define SELF_DEBUG_INVALID KFDABI_QUEUE_INVALID
#define SELF_DEBUG_STOPPED_MS 8u /* long enough to conclude that a barrier packet does not run */
#define SELF_DEBUG_RUNS_MS 2000u

struct self_debug {
	struct gpu_file gpu;
	struct raw_queue queues[SELF_DEBUG_QUEUES];
	struct signal *signals;
	unsigned sent;
	pid_t own_pid;
};
/* The one of this process. */
extern struct self_debug self;

/* Opens the device and a session, with this number of AQL queues that can be suspended. */
void self_debug_open(unsigned queues);
/* Opens the device and enables the runtime only. */
void self_debug_prepare(void);
/* Opens the session. @subscribed: mask of the exceptions that are reported. */
void self_debug_enable(uint64_t subscribed);
/* Clears the NEW exception of all queues. */
void self_debug_collect(void);
/* Call SUSPEND_QUEUES and RESUME_QUEUES on the own process. Return the number of queues or a
 * negative errno; the driver marks unknown ids in the array. */
int self_debug_suspend(uint32_t *ids, uint32_t n);
int self_debug_resume(uint32_t *ids, uint32_t n);
/* Suspend or resume one queue, and check that the driver returns 1, the number of queues. */
void self_debug_suspend_one(const struct raw_queue *queue);
void self_debug_resume_one(const struct raw_queue *queue);
/* Calls any DBG_TRAP operation on the own process. Returns >= 0 or a negative errno. */
int self_debug_trap(struct kfdabi_dbg_trap *args, uint32_t op);

/* Submits a barrier packet and rings the doorbell. Returns its signal, which is 1 until the packet
 * has run, and then 0. */
struct signal *self_debug_send(struct raw_queue *queue);
/* The same without a doorbell. */
struct signal *self_debug_send_silently(struct raw_queue *queue);
/* Returns whether the packet runs within SELF_DEBUG_RUNS_MS. */
bool self_debug_done(struct signal *signal);
/* Returns whether the packet has not run after SELF_DEBUG_STOPPED_MS. */
bool self_debug_stopped(struct signal *signal);
/* Submits a barrier packet and returns whether it runs. */
bool self_debug_runs(struct raw_queue *queue);
/* Suspends the queue in the middle of a dispatch. Returns the signal of the dispatch. *ms is set to
 * the least run time that is left of it, in ms, which is more than 40 % of the dispatch. If the
 * dispatch cannot be caught half way in 10 attempts, ends the check as "too busy". */
struct signal *self_debug_suspend_at_work(struct raw_queue *queue, double *ms);
/* Calls UPDATE_QUEUE with the queue's ring or with none (address 0), and this percentage. Returns 0
 * or a negative errno. */
int self_debug_update(const struct raw_queue *queue, bool ring, uint32_t percent);

/* Creates an SDMA queue. Its ring is filled with zeros, which are NOP packets. */
void self_debug_sdma(struct raw_queue *queue);
/* Submits an SDMA packet and rings the doorbell. */
void self_debug_sdma_put(struct raw_queue *queue, const uint32_t *packet, size_t bytes);
/* Submits a fence packet that writes `value` to the page of the read pointer, and rings the
 * doorbell. Returns the address that it writes to. */
volatile int64_t *self_debug_fence(struct raw_queue *queue, uint32_t value);

#endif
