/* SPDX-License-Identifier: MIT */
/*
 * Debug session on one process (the target), and the protocol that suspends and resumes its compute
 * queues. The interface is the ioctl DBG_TRAP of KFD 1.13 (Linux 6.5).
 *
 * Used by the daemon and kfdsched on another process (kfd/debug_target.h adds ptrace, the events
 * of the session and sentences for errors), and by the agent on its own process
 * (shim/self_session.h). The caller provides the ioctl, because the agent has to bypass the wrapper
 * in its process.
 *
 * Rules of the driver that this module depends on (kfd_debug.c, kfd_chardev.c and
 * kfd_device_queue_manager.c of Linux 6.5 to 7.3). Deviations that were observed on real GPUs are
 * handled, too.
 * - ENABLE succeeds even if the target's runtime is not enabled. Only runtime state 1 (enabled) in
 *   its result means that the session works. ENABLE was observed to leave existing queues stopped,
 *   so kfd_debug_settle() has to follow. ENABLE updates the runlist: a queue that does not come off
 *   the GPU is reset in this call, and not in the first suspend.
 * - A queue starts in the state "new". SUSPEND_QUEUES skips a new queue and marks it INVALID until
 *   a queue snapshot has cleared that state. The queue can become new a second time just after.
 * - Only queues are suspended, not a process. A queue that the target creates later runs, until
 *   kfd_debug_refresh() and kfd_debug_suspend() were called again.
 * - A failed suspend (ERROR) leaves queues flagged as suspended. RESUME_QUEUES clears the flag.
 * - The end of a session, the end of the target and the end of its runtime resume all queues.
 *   Before Linux 6.12.103 any process may end the session by DISABLE. Only -EINVAL from a queue
 *   snapshot shows that there is no session.
 * - A target is named by any of its living threads. A thread that has ended, also the first one, is
 *   unknown to the driver (ESRCH) while its process lives.
 *
 * No function allocates memory, takes a lock or uses stdio. Threads: one call at a time for each
 * session, except kfd_debug_is_enabled() and kfd_debug_is_holding(), which any thread may call.
 * Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef KFDSHIM_KFD_DEBUG_SESSION_H
#define KFDSHIM_KFD_DEBUG_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "kfd/uapi.h"

/* One compute queue of the target. */
struct kfd_debug_queue {
	uint32_t id, gpu_id;
	uint32_t exceptions; /* bits of KFDABI_EC_QUEUE_MASK in the last snapshot */
	bool suspended;	     /* suspended, or flagged so by a failed suspend */
	bool selected;	     /* kfd_debug_select() has selected it */
};

/* A session; all bytes are 0 before the first call. Of its 84 KiB, only the pages for existing
 * queues are touched. */
struct kfd_debug_session {
	/* Set by the caller before the first call. `ioctl` makes ioctl(2) on /dev/kfd, and returns
	 * -1 with errno on an error. `context` is its first argument. The device must be open until
	 * kfd_debug_disable(). */
	int (*ioctl)(void *context, unsigned long request, void *arg);
	void *context;
	/* Id of any living thread of the target; a later call can use another thread. 0: the target
	 * is the calling process; the calling thread's id is passed to the driver. */
	pid_t target;

	/* Set by this module. */
	bool enabled;	   /* the session exists, as far as is known; atomic */
	bool holding;	   /* a suspend has begun since the last resume that succeeded; atomic */
	bool restricted;   /* only selected queues are suspended */
	bool measure;	   /* the next suspend measures the wait for the target's mutex */
	uint32_t n_queues; /* entries of queues[] */
	uint32_t n_new;	   /* number of new queues that all snapshots together have reported */
	struct kfd_debug_queue queues[KFDABI_QUEUE_ARRAY_MAX];
	/* queue ids for a driver call, which adds flags to them */
	uint32_t ids[KFDABI_QUEUE_ARRAY_MAX];
	struct kfdabi_queue_snapshot snapshot[KFDABI_QUEUE_ARRAY_MAX];
};

/*
 * Cost of one suspend or resume.
 *
 * duration_ns is not only the time of the GPU, for two reasons. First, DBG_TRAP takes the mutex of
 * its target (target->mutex in kfd_ioctl_set_debug_trap, kfd_chardev.c), so it waits for any other
 * call of the target that holds this mutex, for example an ALLOC_MEMORY_OF_GPU that pins pages.
 * Second, the driver preempts the GPUs of the target one after the other (the loop over p->pdds in
 * suspend_queues, kfd_device_queue_manager.c).
 *
 * To measure the first part, kfd_debug_suspend() takes a queue snapshot before the suspend: in
 * kfd_debug_settle(), after kfd_debug_measure(), and if the previous suspend took longer than
 * KFD_DEBUG_QUICK_NS or had to wait. A snapshot takes the same mutex and touches no GPU. Its
 * duration is waited_ns, which is not part of duration_ns.
 */
#define KFD_DEBUG_QUICK_NS 10000000u /* 10 ms: limit of a quick suspend */
#define KFD_DEBUG_FREE_NS 1000000u   /* 1 ms: a longer snapshot had to wait for the mutex */
struct kfd_debug_cost {
	uint64_t entry_ns;    /* time of the first driver call; 0: no call was needed */
	uint64_t duration_ns; /* from entry_ns to the end of the last driver call */
	uint64_t waited_ns;   /* duration of the snapshot before a suspend; 0: no snapshot taken */
	/* number of GPUs with a queue that was to be suspended; 0 for a resume */
	uint32_t gpus;
};
/*
 * Returns the time that the suspend took for each GPU, in ns: the mean, because the driver gives no
 * times of single GPUs.
 * It is 0 if other calls of the target held the mutex, so that the time is not known.
 */
static inline uint64_t kfd_debug_gpu_ns(const struct kfd_debug_cost *cost)
{
	if (cost->waited_ns >= KFD_DEBUG_FREE_NS)
		return 0;
	return cost->gpus > 1 ? cost->duration_ns / cost->gpus : cost->duration_ns;
}

/*
 * Makes the ioctl DBG_TRAP for the target; repeats it on EINTR. args->pid is set here.
 * Returns the driver's result (for some operations a number of queues) or a negative errno.
 */
int kfd_debug_call(const struct kfd_debug_session *session, struct kfdabi_dbg_trap *args);
/*
 * Checks by an empty queue snapshot whether the target has a debug session, of whatever debugger.
 * Returns 0 or more if it has one. Returns -EINVAL if it has none, and marks this session as not
 * enabled. Returns another negative errno if the check failed, so that the answer is not known.
 */
int kfd_debug_probe(struct kfd_debug_session *session);

/*
 * Opens the session. The driver then reports the exceptions in the mask `exceptions` by a write to
 * `event_fd`, which stays the caller's. *runtime_state: KFDABI_RUNTIME_* of the target; if it is
 * not enabled, the session cannot suspend, and the caller has to call kfd_debug_disable().
 * Returns 0 or a negative errno; -EALREADY: another debugger has a session on the target.
 */
int kfd_debug_enable(struct kfd_debug_session *session, uint64_t exceptions, int event_fd,
		     uint32_t *runtime_state);
/* Ends the session. The driver then resumes all queues, also those that RESUME_QUEUES could not
 * resume. Makes no call if the session is not enabled, because the call could end the session of
 * another debugger. */
void kfd_debug_disable(struct kfd_debug_session *session);
/* Forgets the session without a driver call. For a fork child, whose parent owns the session. */
void kfd_debug_forget(struct kfd_debug_session *session);

/* Returns true while the session exists, as far as is known. Any thread. */
static inline bool kfd_debug_is_enabled(const struct kfd_debug_session *session)
{
	return __atomic_load_n(&session->enabled, __ATOMIC_ACQUIRE);
}
/* Returns true from the beginning of a suspend until a resume has succeeded. Any thread. */
static inline bool kfd_debug_is_holding(const struct kfd_debug_session *session)
{
	return __atomic_load_n(&session->holding, __ATOMIC_ACQUIRE);
}

/* Reads the compute queues of the target and clears their state "new". Returns 0 or a negative
 * errno, -EINVAL as kfd_debug_probe(). */
int kfd_debug_refresh(struct kfd_debug_session *session);
/*
 * Restricts later suspends to the queues in ids[]. No other queue is suspended, nor any queue that
 * is created later, even if it gets one of these ids again. Must be called while nothing is
 * suspended.
 * Returns 0, the negative errno of the snapshot, or -ENOENT if *missing is no compute queue of the
 * target. After an error there is no restriction.
 */
int kfd_debug_select(struct kfd_debug_session *session, const uint32_t *ids, uint32_t count,
		     uint32_t *missing);

/*
 * Suspends all compute queues (AQL and PM4), or the selected ones, in one driver call with the
 * shortest grace period. Suspends the rest if some are suspended already. cost: NULL if nothing is
 * to be measured.
 *
 * Returns 0 or a negative errno. After an error, kfd_debug_resume() must be called as well, because
 * some queues may be suspended, or flagged so.
 * -EIO     the firmware failed
 * -EBUSY   a queue remained "new"
 * -EPERM   the runtime is not enabled any more
 * -EINVAL  with kfd_debug_is_enabled() false: another process has ended the session
 */
int kfd_debug_suspend(struct kfd_debug_session *session, struct kfd_debug_cost *cost);
/*
 * Resumes exactly the queues that are suspended. cost: as in kfd_debug_suspend().
 * Returns 0 or a negative errno. Also 0 if nothing was suspended, or if the runtime, the session or
 * the target is gone, because the driver has resumed the queues then.
 */
int kfd_debug_resume(struct kfd_debug_session *session, struct kfd_debug_cost *cost);
/* Suspends and resumes the existing queues once, after kfd_debug_enable(), so that their state is
 * known. *cost: cost of the suspend; all zero if there is no queue. Returns 0 or a negative
 * errno. */
int kfd_debug_settle(struct kfd_debug_session *session, struct kfd_debug_cost *cost);
/* Makes the next kfd_debug_suspend() whose `cost` is not NULL measure how long it waits for the
 * target's mutex, by a further driver call. */
static inline void kfd_debug_measure(struct kfd_debug_session *session)
{
	session->measure = true;
}
/* Returns the number of queues that are suspended now, and writes the ids of the first `room`. */
uint32_t kfd_debug_suspended(const struct kfd_debug_session *session, uint32_t *ids, uint32_t room);

#endif
