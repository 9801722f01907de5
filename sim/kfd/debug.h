/* SPDX-License-Identifier: MIT */
/*
 * Inside DBG_TRAP: debug.c lets a call in and keeps the session, and hands its
 * operation to the file that has the subject. Each operation is called with the
 * target's mutex free and all gates passed; it answers with 0 or more, a
 * negative errno, or CALL_PENDING. Threads: under the world's lock.
 */
#ifndef KFDSHIM_SIM_KFD_DEBUG_H
#define KFDSHIM_SIM_KFD_DEBUG_H

#include "sim/kfd/kfd.h"

/* debug.c: the GPUs are set up for debugging the target, or no longer; what
 * that costs is added to the bounce. Arming may leave the target "busy". */
void debug_arm(struct process *target, struct bounce *bounce);
void debug_disarm(struct process *target, struct bounce *bounce); /* resumes, too */

/* debug_events.c */
int debug_send_event(struct call *call, struct process *target);
int debug_set_exceptions(struct call *call, struct process *target);
int debug_query_event(struct call *call, struct process *target);
int debug_query_info(struct call *call, struct process *target);
void debug_subscribe(struct process *target, uint64_t mask);

/* debug_waves.c: what concerns single waves and addresses. */
int debug_launch_override(struct call *call, struct process *target);
int debug_launch_mode(struct call *call, struct process *target);
int debug_set_watch(struct call *call, struct process *target);
int debug_clear_watch(struct call *call, struct process *target);
int debug_set_flags(struct call *call, struct process *target);
unsigned debug_watches_release(struct process *target); /* how many there were */

/* debug_queues.c */
int debug_suspend(struct call *call, struct process *target);
int debug_resume(struct call *call, struct process *target);
/* snapshot.c */
int debug_queue_snapshot(struct call *call, struct process *target);
int debug_device_snapshot(struct call *call, struct process *target);
/* debug_queues.c: what a grace period of that number is to this kernel and firmware. The driver's
 * own bounces for the debugger (debug_lock_and_unmap) ask for 0. */
uint32_t debug_grace(const struct world *world, uint32_t asked);
/* debug_queues.c: it may be mapped again at the next bounce. */
void debug_resume_queue(struct queue *queue);

#endif
