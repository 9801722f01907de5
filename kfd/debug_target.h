/* SPDX-License-Identifier: MIT */
/*
 * A process of which this process is the debugger (the target): attaches to it by ptrace, opens a
 * debug session on it (kfd/debug_session.h has the protocol and the rules of the driver), and
 * serves the events of the session.
 *
 * Rules of the driver that only this module depends on (kfd_debug.c and kfd_chardev.c of Linux 6.5
 * to 7.3):
 * - While a session exists, the target's RUNTIME_ENABLE waits for SEND_RUNTIME_EVENT. Therefore
 *   one such event is always posted in advance.
 * - Before Linux 6.12.103 only the thread that traces the target can make these calls. Later
 *   kernels let the process that owns the session make them, whether it traces the target or not.
 *   In AMD's own driver it depends on the version. Therefore trap_attach() finds out by a call
 *   whether the driver accepts it.
 *
 * Threads: all calls for one target must come from the same thread for the life of the struct trap,
 * because that thread may be the tracer. Exception: trap_pending(). Only trap_create() allocates
 * memory. Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef KFDSHIM_KFD_DEBUG_TARGET_H
#define KFDSHIM_KFD_DEBUG_TARGET_H

#include <stdint.h>

#include "kfd/debug_session.h"
#include "kfd/device.h"

struct trap;

/*
 * Allocates the state for a target. No session is opened yet.
 *
 * pidfd remains owned by the caller, which must keep it open until trap_destroy().
 * Returns NULL if there is no memory.
 */
struct trap *trap_create(pid_t pid, int pidfd);
/* Frees the state (NULL is allowed). Does not end an open session; that is left to the driver. */
void trap_destroy(struct trap *trap);

/*
 * Opens a debug session on the target:
 * 1. seizes the lead thread of the target (ptrace);
 * 2. enables the session;
 * 3. suspends and resumes all existing compute queues once, so that their state is known;
 * 4. detaches from the thread if the driver accepts calls of the session's owner without ptrace.
 *
 * The target must have enabled its runtime before this call, because its RUNTIME_ENABLE would
 * otherwise sleep. kfd_fd: from kfd_device_open(), must stay open until trap_detach().
 * *settled: cost of the suspend in step 3; zeros if the target has no compute queue.
 *
 * Returns 0, or a negative errno with `reason` set. On failure no session and no ptrace
 * attachment remains.
 * -EAGAIN, -EALREADY  another process traces the target or has a session on it (this can be a
 *                     predecessor of the caller that is still exiting)
 * -EPERM              no permission to trace the target
 * -EBUSY              the target's GPU debugs another process (GPUs that do not debug by VMID
 *                     allow one session per GPU), or the target uses global wave sync
 * -EPROTO             the target's runtime is not enabled, or in an error state
 * -ENODEV             the target sees a GPU older than gfx9
 * -EIO                the first suspend or resume failed
 * -ESRCH              the target has ended, or does not use /dev/kfd
 * Errors of ptrace(2), pipe2(2) and the ioctl are passed on.
 */
int trap_attach(struct trap *trap, int kfd_fd, struct kfd_debug_cost *settled,
		struct reason *reason);
/*
 * Returns the cost of step 2 (ENABLE) of the last trap_attach() that succeeded. ENABLE updates the
 * runlist, so a queue that does not come off the GPU is reset there, and the suspend of step 3
 * finds nothing to wait for any more. waited_ns is the duration of the snapshot just before ENABLE;
 * gpus is 0.
 */
struct kfd_debug_cost trap_enable_cost(const struct trap *trap);

/*
 * Takes one queue snapshot: opens a session, reads the snapshot and ends the session at once.
 * Nothing is suspended, and the state "new" of queues is not cleared. The runtime of the target
 * does not have to be enabled. Must not be called while the trap is attached.
 *
 * Returns the number of queues of the target; out[] holds the first `max` of them, newest first.
 * Fails with the errors of trap_attach(), and sets `reason`.
 */
int trap_list_queues(struct trap *trap, int kfd_fd, struct kfdabi_queue_snapshot *out, uint32_t max,
		     struct reason *reason);

/* Resumes all queues, ends the session and detaches from the target. */
void trap_detach(struct trap *trap);

/*
 * Returns the fd on which the driver reports events of the session, or -1 without a session. The
 * fd belongs to the trap; the caller polls it only.
 * Readable: the target's runtime is turning on or off; call trap_handle_runtime().
 * Hang-up: the session has ended.
 */
int trap_events_fd(const struct trap *trap);
/* Lets the target continue its RUNTIME_ENABLE or runtime disable, and posts the runtime event that
 * the next such call will wait for. */
void trap_handle_runtime(struct trap *trap);

/*
 * Forwards a pending signal to the target, if this thread traces it.
 * Returns 0, or -ESRCH if the traced target has ended. The end of a target that is not traced is
 * visible by its pidfd only.
 */
int trap_serve(struct trap *trap);
/* Returns true if trap_serve() has a stop or the end of the target to handle. Any thread. */
bool trap_pending(const struct trap *trap);
/* Returns the session, to suspend and resume the queues of the target (kfd/debug_session.h). An
 * error -ESRCH or -EINVAL can mean that the target is gone: see trap_is_gone(). */
struct kfd_debug_session *trap_session(struct trap *trap);
/* Returns true if `error` of kfd_debug_suspend() means that the target is exiting, or that its session
 * has ended (the driver then resumes the target). */
bool trap_is_gone(struct trap *trap, int error);
/*
 * Reports the compute queues with a fault (EXCEPTION_FAULTS of exception.h) in the last snapshot,
 * which trap_attach() and trap_collect() take. The driver reports only faults that occur during the
 * session, and keeps them until its end. Writes at most `room` entries (queue id << 32 | mask), and
 * returns how many it has written.
 */
uint32_t trap_exceptions(const struct trap *trap, uint64_t *out, uint32_t room);
/*
 * Reads the list of the target's current queues, and suspends the new ones if the target is
 * suspended. Must be called after each creation or destruction of a queue by the target. Returns 0,
 * or a negative errno if a new queue of a suspended target could not be suspended.
 */
int trap_collect(struct trap *trap);

/*
 * Makes trap_events_fd() readable after each creation of a queue, too. For a target without the
 * shim, which does not announce its queues. From then on, the caller handles the fd by
 * trap_handle_events() instead of trap_handle_runtime().
 * Returns 0 or a negative errno.
 */
int trap_watch_queues(struct trap *trap);
/*
 * Does the work of trap_collect(). If the runtime has turned on or off, also lets the target
 * continue as trap_handle_runtime() does, and writes the new state to *enabled.
 * Returns the result of trap_collect().
 */
int trap_handle_events(struct trap *trap, bool *enabled);

#endif
