/* SPDX-License-Identifier: MIT */
/*
 * A process that debugs itself, for the checks of SUSPEND, RESUME and the
 * snapshots: device, runtime, queues, and a session whose queues are collected,
 * so that they can be suspended. As lab.h: what fails ends the check.
 */
#ifndef KFDSHIM_CONFORM_DESK_H
#define KFDSHIM_CONFORM_DESK_H

#include "conform/lab.h"

#define DESK_QUEUES 4u
#define DESK_INVALID KFDABI_QUEUE_INVALID
#define DESK_STANDS_MS 8u /* long enough to tell that a barrier packet does not run */
#define DESK_RUNS_MS 2000u

struct desk {
	struct gpu_file gpu;
	struct raw_queue queues[DESK_QUEUES];
	struct signal *signals;
	unsigned sent;
	pid_t self;
};

/* With so many AQL queues. */
void desk_open(struct desk *desk, unsigned queues);
/* Device and runtime only. */
void desk_prepare(struct desk *desk);
void desk_enable(struct desk *desk, uint64_t subscribed);
void desk_collect(struct desk *desk); /* no queue is "new" any more */
int desk_suspend(struct desk *desk, uint32_t *ids, uint32_t n);
int desk_resume(struct desk *desk, uint32_t *ids, uint32_t n);
/* One queue; CHECKs that it counts. */
void desk_suspend_one(struct desk *desk, const struct raw_queue *queue);
void desk_resume_one(struct desk *desk, const struct raw_queue *queue);
/* The kernel's answer to any operation. */
int desk_trap(struct desk *desk, struct kfdabi_dbg_trap *args, uint32_t op);

/* A barrier packet; its signal is 1 until it has run. With or without a doorbell. */
struct signal *desk_send(struct desk *desk, struct raw_queue *queue);
struct signal *desk_send_silently(struct desk *desk, struct raw_queue *queue);
bool desk_done(struct signal *signal); /* does it come? */
/* Is it not there, a while later? */
bool desk_stands(const struct desk *desk, struct signal *signal);
bool desk_runs(struct desk *desk, struct raw_queue *queue);
/* Suspends the queue in the middle of a dispatch of that many ms, of which half is
 * left at least; *ms becomes what is left at least. */
struct signal *desk_suspend_at_work(struct desk *desk, struct raw_queue *queue, double *ms);
/* UPDATE_QUEUE with any ring (0: none) and percentage. */
int desk_update(struct desk *desk, const struct raw_queue *queue, bool ring, uint32_t percent);

/* An SDMA queue; its ring starts with zeros, which are nops. */
void desk_sdma(struct desk *desk, struct raw_queue *queue);
/* An SDMA packet, and rung. */
void desk_sdma_put(struct raw_queue *queue, const uint32_t *packet, size_t bytes);
/* A fence packet that writes `value` behind the read pointer; rung. */
volatile int64_t *desk_fence(struct raw_queue *queue, uint32_t value);

#endif
