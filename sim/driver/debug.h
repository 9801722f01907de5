/* SPDX-License-Identifier: MIT */
/*
 * Internal interface of the DBG_TRAP ioctl (the driver's kfd_debug.c): debug.c checks the
 * permission, keeps the session and calls the operation's function in the file named below.
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

#define RUNTIME_MASK kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME)

/* ---- debug.c: the session ---- */
/* Sets all GPUs up for debugging the target, and adds to @update the nodes to update and the number
 * of updates that this requires. If another process holds a GPU's debug VMID, sets the target's
 * runtime state to "busy" instead and clears the nodes of @update. */
void debug_arm(struct process *target, struct runlist_update *update);
/* Undoes debug_arm(): resumes the target's queues, frees its watchpoints and debug VMIDs, resets
 * trap mask and flags. The driver makes several runlist updates for this; @update gets their nodes
 * and their number (`again`). */
void debug_disarm(struct process *target, struct runlist_update *update);

/* ---- debug_events.c: exceptions ---- */
/* SEND_RUNTIME_EVENT: passes exceptions on to the target's runtime. */
int debug_send_event(struct call *call, struct process *target);
/* SET_EXCEPTIONS_ENABLED: sets which exceptions notify the debugger. If one of them is pending,
 * notifies it at once. */
int debug_set_exceptions(struct call *call, struct process *target);
/* QUERY_DEBUG_EVENT: returns the next enabled exception with its GPU and queue. Returns -EAGAIN if
 * no enabled exception is pending. */
int debug_query_event(struct call *call, struct process *target);
/* QUERY_EXCEPTION_INFO: copies the data of a pending exception to the caller. Returns -EINVAL: null
 * pointer or bad source; -ENODATA: the exception is not pending; -EFAULT. */
int debug_query_info(struct call *call, struct process *target);
/* Sets the enabled exceptions at ENABLE. Exceptions that are pending by then cause no
 * notification. */
void debug_subscribe(struct process *target, uint64_t mask);

/* ---- debug_waves.c: operations on waves and addresses ---- */
/* SET_WAVE_LAUNCH_OVERRIDE: sets which traps are enabled in waves that start from now on. */
int debug_launch_override(struct call *call, struct process *target);
/* SET_WAVE_LAUNCH_MODE: checks the mode, which has no effect on the simulated waves. */
int debug_launch_mode(struct call *call, struct process *target);
/* SET_NODE_ADDRESS_WATCH: allocates a watchpoint. Returns -ENOMEM if none is free on the node. */
int debug_set_watch(struct call *call, struct process *target);
/* CLEAR_NODE_ADDRESS_WATCH: frees a watchpoint. Returns -EINVAL if the target does not have it. */
int debug_clear_watch(struct call *call, struct process *target);
/* SET_FLAGS: sets the debug flags and returns the earlier ones in the arguments. Returns -EACCES
 * for a flag that this GPU does not support. */
int debug_set_flags(struct call *call, struct process *target);
/* Frees the target's watchpoints. Returns the largest number that it had on one node. */
unsigned debug_watches_release(struct process *target);

/* ---- debug_suspend.c: SUSPEND_QUEUES, RESUME_QUEUES and the snapshots ---- */
/* SUSPEND_QUEUES and RESUME_QUEUES: start a runlist update and return CALL_PENDING, or a negative
 * errno. The ioctl's later result is the number of queues that were suspended or resumed. */
int debug_suspend(struct call *call, struct process *target);
int debug_resume(struct call *call, struct process *target);
/* GET_QUEUE_SNAPSHOT: copies an entry for each queue to the caller's array, and clears the
 * exceptions in the caller's mask from the copied queues. */
int debug_queue_snapshot(struct call *call, struct process *target);
/* GET_DEVICE_SNAPSHOT: copies an entry for each GPU to the caller. */
int debug_device_snapshot(struct call *call, struct process *target);
/* Returns the grace period (in units of 1024 GPU clocks, or KFDABI_GRACE_DEFAULT) that the driver
 * uses with this kernel and firmware if @wanted is requested. The driver's own updates for the
 * debugger (debug_lock_and_unmap) request 0. In debug_suspend.c. */
uint32_t debug_grace(const struct sim *sim, uint32_t wanted);
/* Clears the queue's suspension, so that the next runlist update can map it. In debug_suspend.c. */
void debug_resume_queue(struct queue *queue);

#endif
