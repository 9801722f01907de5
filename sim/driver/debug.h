/* SPDX-License-Identifier: MIT */
/*
 * DBG_TRAP inside (kfd_debug.c): debug.c checks the permission, keeps the session and passes the
 * operation on to the file with its subject.
 *
 * Each operation is called when the target's mutex is free and all checks of debug.c have passed.
 * It returns 0 or more (the result of the ioctl), a negative errno, or CALL_PENDING if the call is
 * answered later.
 *
 * Threads: all functions under sim->lock.
 */
#ifndef KFDSHIM_SIM_DRIVER_DEBUG_H
#define KFDSHIM_SIM_DRIVER_DEBUG_H

#include "sim/driver/runlist_update.h"

/* ---- debug.c: the session ---- */
/* Sets the GPUs up for debugging the target, and adds the nodes and repetitions that this costs to
 * @update. If another process holds a GPU's debug VMID, the target's runtime state becomes "busy"
 * instead and @update loses its nodes. */
void debug_arm(struct process *target, struct runlist_update *update);
/* Undoes debug_arm(): resumes the target's queues, frees its watchpoints and debug VMIDs, resets
 * trap mask and flags, and adds to @update what this costs. */
void debug_disarm(struct process *target, struct runlist_update *update);

/* ---- debug_events.c: exceptions ---- */
/* SEND_RUNTIME_EVENT: passes exceptions on to the target's runtime. */
int debug_send_event(struct call *call, struct process *target);
/* SET_EXCEPTIONS_ENABLED. */
int debug_set_exceptions(struct call *call, struct process *target);
/* QUERY_DEBUG_EVENT. Returns -EAGAIN if no enabled exception is pending. */
int debug_query_event(struct call *call, struct process *target);
/* QUERY_EXCEPTION_INFO. */
int debug_query_info(struct call *call, struct process *target);
/* Sets the enabled exceptions at ENABLE. Exceptions that are pending by then cause no
 * notification. */
void debug_subscribe(struct process *target, uint64_t mask);

/* ---- debug_waves.c: operations on waves and addresses ---- */
/* SET_WAVE_LAUNCH_OVERRIDE. */
int debug_launch_override(struct call *call, struct process *target);
/* SET_WAVE_LAUNCH_MODE. */
int debug_launch_mode(struct call *call, struct process *target);
/* SET_NODE_ADDRESS_WATCH. Returns -ENOMEM if the node has no free watchpoint. */
int debug_set_watch(struct call *call, struct process *target);
/* CLEAR_NODE_ADDRESS_WATCH. */
int debug_clear_watch(struct call *call, struct process *target);
/* SET_FLAGS. */
int debug_set_flags(struct call *call, struct process *target);
/* Frees the target's watchpoints on all nodes. Returns how many there were on the node with most of
 * them. */
unsigned debug_watches_release(struct process *target);

/* ---- debug_suspend.c: SUSPEND_QUEUES, RESUME_QUEUES ---- */
/* Both end with a runlist update and return CALL_PENDING; the ioctl's result is the number of
 * queues that are suspended or resumed. */
int debug_suspend(struct call *call, struct process *target);
int debug_resume(struct call *call, struct process *target);
/* ---- debug_snapshot.c ---- */
/* GET_QUEUE_SNAPSHOT: copies queue entries to the caller and clears the exceptions that it
 * names. */
int debug_queue_snapshot(struct call *call, struct process *target);
/* GET_DEVICE_SNAPSHOT. */
int debug_device_snapshot(struct call *call, struct process *target);
/* Returns the grace period (units of 1024 GPU clocks, or KFDABI_GRACE_DEFAULT) that results from
 * the requested one with this kernel and firmware. The driver's own updates for the debugger
 * (debug_lock_and_unmap) request 0. In debug_suspend.c. */
uint32_t debug_grace(const struct sim *sim, uint32_t wanted);
/* Clears the queue's suspension, so that the next runlist update can map it. In debug_suspend.c. */
void debug_resume_queue(struct queue *queue);

#endif
