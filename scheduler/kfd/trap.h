/* SPDX-License-Identifier: MIT */
/*
 * A debug session on one process: how its compute queues are taken off the
 * GPU and given back (DBG_TRAP, KFD 1.13).
 *
 * The driver's rules that shape this (kfd_debug.c, kfd_chardev.c and
 * kfd_device_queue_manager.c of Linux 6.5 to 7.3; what real GPUs were seen to
 * do differently is covered too):
 * - A queue is born "new" and SUSPEND skips it, marked INVALID, until a
 *   snapshot has cleared that; it may become new a second time just after.
 * - There is no suspended process: a queue created later runs, so it is
 *   suspended by trap_collect().
 * - A failed suspend leaves queues flagged as suspended: RESUME clears that.
 * - ENABLE succeeds when nothing was armed; runtime state 1 alone counts.
 * - The target's RUNTIME_ENABLE waits for SEND_RUNTIME_EVENT while a session
 *   exists, so one is always posted ahead.
 * - Before Linux 6.12.103 the tracing thread alone may act; later the session's owner
 *   may, whether he traces or not. AMD's own driver: by version. So it is tried.
 *
 * Threads: every call for one target from one thread for life (it may be its tracer),
 * but trap_pending. Times are CLOCK_MONOTONIC nanoseconds. No call allocates
 * but trap_create.
 */
#ifndef KFDSHIM_SCHEDULER_KFD_TRAP_H
#define KFDSHIM_SCHEDULER_KFD_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/kfd/device.h"

struct trap;
struct kfdabi_queue_snapshot;

/*
 * What a suspend or a resume cost: entry into the driver, and from there to
 * the end of the last call that it took. entry_ns 0: no call was needed.
 *
 * Not all of that is the GPU's. DBG_TRAP holds the mutex of its target (target->mutex in
 * kfd_ioctl_set_debug_trap, kfd_chardev.c), and so waits for each other call of the target that
 * has it, such as an ALLOC_MEMORY_OF_GPU that pins pages; and GPUs are preempted one after the
 * other (the loop over p->pdds in suspend_queues, kfd_device_queue_manager.c). So after a suspend
 * that took longer than TRAP_QUICK_NS, or waited, the next one is preceded by a snapshot, which takes the same
 * mutex and touches no GPU: how long that waits is `waited_ns`, and not part of duration_ns.
 */
#define TRAP_QUICK_NS 10000000u
#define TRAP_FREE_NS 1000000u /* a snapshot that took longer has waited */
struct trap_cost {
	uint64_t entry_ns;
	uint64_t duration_ns;
	uint64_t waited_ns;
	uint32_t gpus; /* of a suspend: on which a queue was to be suspended */
};
/* What one GPU took of a suspend, at most; 0: the mutex was taken by other calls just then, so it
 * cannot be told. */
static inline uint64_t trap_gpu_ns(const struct trap_cost *cost)
{
	if (cost->waited_ns >= TRAP_FREE_NS)
		return 0;
	return cost->gpus > 1 ? cost->duration_ns / cost->gpus : cost->duration_ns;
}

/* pidfd stays the caller's, and open for the trap's life. NULL: no memory. */
struct trap *trap_create(pid_t pid, int pidfd);
/* Frees; a session that is still open stays the driver's to end. */
void trap_destroy(struct trap *trap);

/*
 * Seizes the lead thread, opens the session, suspends and resumes once the queues that
 * are there (*settled: what that suspend cost), and lets go of the thread if the driver
 * obeys the owner of a session without. Call it only when the target has enabled its
 * runtime, or its RUNTIME_ENABLE would sleep. 0, or a negative errno with a sentence in
 * `reason`, and then nothing is left behind:
 * -EAGAIN, -EALREADY  somebody else traces it or has a session on it, perhaps a
 *                     predecessor that is dying
 * -EPERM              no right to trace it
 * -EBUSY              its GPU debugs another process (one a GPU, on parts that do not
 *                     debug by VMID), or has its global wave sync
 * -EIO                its queues could not be suspended
 * -ESRCH              it has ended, or does not use the device
 */
int trap_attach(struct trap *trap, int kfd_fd, struct trap_cost *settled,
		char reason[static KFD_REASON]);

/*
 * Looks, and leaves nothing behind: a session that is opened, asked for its snapshot and
 * ended at once, without a suspend, and without taking from any queue that it is new. The
 * runtime need not be enabled. How many queues there are, of which the first `max` are in
 * out[], newest first; or as trap_attach() fails. Not while the trap is attached.
 */
int trap_look(struct trap *trap, int kfd_fd, struct kfdabi_queue_snapshot *out, uint32_t max,
	      char reason[static KFD_REASON]);

/* Ends the session, which resumes everything, and lets go of the target. */
void trap_detach(struct trap *trap);

/* Readable: the target's runtime is turning on or off: trap_answer_runtime().
 * Hung up: the session has ended. Belongs to the trap; -1 without a session. */
int trap_events_fd(const struct trap *trap);
void trap_answer_runtime(struct trap *trap);

/* Forwards the target's signals, if it is traced. -ESRCH: it has ended; of one that is
 * not traced the pidfd alone tells that. */
int trap_serve(struct trap *trap);
/* Is there a signal or the end to serve? For any thread. */
bool trap_pending(const struct trap *trap);

/*
 * All compute queues (AQL and PM4), in one call of the shortest grace period.
 * 0, or a negative errno; call trap_resume() after that too. -EIO: the
 * firmware failed; -EBUSY: a queue cannot be suspended; -EPERM: the runtime
 * is not enabled any more.
 */
int trap_suspend(struct trap *trap, struct trap_cost *cost);
/* Did it fail because the process is ending, or because its session has ended, which resumes it? */
bool trap_is_gone(struct trap *trap, int error);
/*
 * From now on of the queues that are there only these are suspended, and none that comes
 * later, also not one that takes such an id: for who knows what he does, since a queue
 * that stands while its process' others run can make the process wait for ever. While
 * nothing is suspended. 0, or -ENOENT, and *missing is no compute queue of it: then all
 * are still meant.
 */
int trap_choose(struct trap *trap, const uint32_t *ids, uint32_t count, uint32_t *missing);
/* Of those that trap_suspend() has suspended the first `room` ids; how many there are. */
uint32_t trap_suspended(const struct trap *trap, uint32_t *ids, uint32_t room);
/* Exactly what was suspended; 0 also if that is nothing, or if the session is
 * gone, for then the driver has done it. */
int trap_resume(struct trap *trap, struct trap_cost *cost);
/* After every creation or destruction of a queue by the target. 0, or what
 * kept a new queue of a suspended target from being suspended. */
int trap_collect(struct trap *trap);

/*
 * For a target that announces nothing (no shim): from now on trap_events_fd() is
 * readable also after each creation of a queue, and trap_answer_events() is called
 * then instead of trap_answer_runtime(). 0 or a negative errno.
 */
int trap_watch_queues(struct trap *trap);
/* Collects new queues, and answers for the runtime if it has turned on or off; then
 * *enabled says which. Result as of trap_collect(). */
int trap_answer_events(struct trap *trap, bool *enabled);

#endif
