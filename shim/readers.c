// SPDX-License-Identifier: MIT
#include "shim/readers.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#include "common/clock.h"
#include "common/thread_cancel.h"
#include "common/wait.h"
#include "shim/thread.h"

/* Longest time that readers_wait() and readers_before_fork() wait. */
#define WAIT_NS 100000000u
/* period at which begin_wait() checks `forks`, and a fork checks `state` */
#define CHECK_NS 100000u
/* Size of the trial mapping in join(): larger than what liburcu's registry needs when it grows for
 * one more thread. With 4,000 threads the registry has 512 KiB, and doubles. */
#define ROOM_BYTES (1u << 20)

/* Variables of liburcu-bp.so. They are declared here because its own declarations are in a header
 * that only LGPL code may include. The TLS model places the variable in each thread's static block
 * when the agent is loaded: otherwise the first read of each thread would allocate memory, within
 * any call of the program. */
extern __thread struct urcu_bp_reader *urcu_bp_reader /* NULL: thread is not registered */
	__attribute__((tls_model("initial-exec")));
extern int urcu_bp_has_sys_membarrier; /* liburcu uses membarrier(2) */

/* State of the wait for readers. liburcu's wait has no time limit, so a separate thread executes
 * it, one wait at a time. ENDED and REFUSED are results of the last wait. */
enum wait_state { NONE, RUNNING, ENDED, REFUSED };
static uint32_t state; /* futex; atomic */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static uint32_t forks; /* forks in progress, during which no wait begins; atomic */
/* The thread that holds liburcu's lock for its fork; 0: none. Atomic, written under that lock. */
static pthread_t locker;

/* PID of the process whose threads may register with liburcu; 0: none may. It excludes a child made
 * by clone() without the fork handlers, in which liburcu's registry may be locked for ever. */
static pid_t home;

/* Declare to ThreadSanitizer the order that liburcu guarantees and the sanitizer does not see. */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
static char hold_cmd;
#define TSAN_RELEASE() __tsan_release(&hold_cmd)
#define TSAN_ACQUIRE() __tsan_acquire(&hold_cmd)
#else
#define TSAN_RELEASE() ((void)0)
#define TSAN_ACQUIRE() ((void)0)
#endif

void readers_init(void)
{
	__atomic_store_n(&home, getpid(), __ATOMIC_RELAXED);
}

/* Registers the calling thread with liburcu, which aborts if memory is short, so a trial mapping
 * checks that. Returns false if memory is short, and in a child made without the fork handlers. */
static __attribute__((noinline, cold)) bool join(void)
{
	void *room;

	if (getpid() != __atomic_load_n(&home, __ATOMIC_RELAXED))
		return false;
	room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return false;
	munmap(room, ROOM_BYTES);
	urcu_bp_register_thread();
	return true;
}

bool readers_begin(void)
{
	if (!urcu_bp_reader && !join())
		return false;
	urcu_bp_read_lock();
	return true;
}

void readers_end(void)
{
	TSAN_RELEASE();
	urcu_bp_read_unlock();
}

/* Body of the thread that waits for readers. Tries membarrier(2) first, because liburcu aborts if
 * that call fails, for example under a seccomp filter that the program has installed meanwhile. */
static void *wait_for_all(void *arg)
{
	bool ends = !urcu_bp_has_sys_membarrier ||
		    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;

	if (ends)
		urcu_bp_synchronize_rcu();
	TSAN_ACQUIRE();
	__atomic_store_n(&state, ends ? ENDED : REFUSED, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	return arg;
}

/* Starts the thread that waits for readers, after the end of forks in progress. Returns false if an
 * earlier wait still runs, if a fork lasts until @end_ns, or if the thread cannot be started. */
static bool begin_wait(uint64_t end_ns)
{
	/* While an earlier wait has not ended, a new one would not end either. */
	if (__atomic_load_n(&state, __ATOMIC_SEQ_CST) == RUNNING)
		return false;
	for (;;) {
		__atomic_store_n(&state, RUNNING, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&forks, __ATOMIC_SEQ_CST) == 0)
			break;
		__atomic_store_n(&state, NONE, __ATOMIC_SEQ_CST);
		if (clock_ns() >= end_ns)
			return false;
		sleep_ns(CHECK_NS);
	}
	if (thread_start(wait_for_all, NULL) == 0)
		return true;
	__atomic_store_n(&state, NONE, __ATOMIC_SEQ_CST);
	return false;
}

bool readers_wait(void)
{
	uint64_t end_ns = clock_ns() + WAIT_NS;
	struct timespec left;
	bool ended = false;

	/* Do not wait if the reader is the calling thread itself: it is in a signal handler that
	 * has interrupted its read, or in a fork handler of the program during its fork. */
	if ((urcu_bp_reader && urcu_bp_read_ongoing()) ||
	    __atomic_load_n(&locker, __ATOMIC_RELAXED) == pthread_self())
		return false;
	pthread_mutex_lock(&one_at_a_time);
	if (begin_wait(end_ns)) {
		while (__atomic_load_n(&state, __ATOMIC_SEQ_CST) == RUNNING &&
		       clock_ns() < end_ns) {
			left = wait_left(end_ns);
			syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, RUNNING, &left, NULL, 0);
		}
		ended = __atomic_load_n(&state, __ATOMIC_SEQ_CST) == ENDED;
	}
	pthread_mutex_unlock(&one_at_a_time);
	return ended;
}

/* Takes liburcu's lock, so that the child does not inherit it in the locked state. A wait for
 * readers holds that lock; if the wait does not end in 100 ms, fork(2) goes on without the lock. */
void readers_before_fork(void)
{
	NOT_CANCELLED;
	uint64_t end_ns = clock_ns() + WAIT_NS;
	int saved = errno;
	bool runs;

	__atomic_add_fetch(&forks, 1, __ATOMIC_SEQ_CST);
	while ((runs = __atomic_load_n(&state, __ATOMIC_SEQ_CST) == RUNNING) && clock_ns() < end_ns)
		sleep_ns(CHECK_NS);
	if (!runs) {
		urcu_bp_before_fork();
		__atomic_store_n(&locker, pthread_self(), __ATOMIC_RELAXED);
	}
	errno = saved;
}

/* Returns true if this thread's readers_before_fork() took liburcu's lock; the caller then frees
 * it. */
static bool take_locker(void)
{
	if (__atomic_load_n(&locker, __ATOMIC_RELAXED) != pthread_self())
		return false;
	__atomic_store_n(&locker, 0, __ATOMIC_RELAXED);
	return true;
}

void readers_after_fork_parent(void)
{
	if (take_locker())
		urcu_bp_after_fork_parent();
	__atomic_sub_fetch(&forks, 1, __ATOMIC_SEQ_CST);
}

void readers_after_fork_child(void)
{
	bool usable = take_locker();

	if (usable)
		urcu_bp_after_fork_child();
	__atomic_store_n(&home, usable ? getpid() : 0, __ATOMIC_RELAXED);
	pthread_mutex_init(&one_at_a_time, NULL);
	__atomic_store_n(&forks, 0, __ATOMIC_RELAXED);
	/* If the lock of liburcu was not taken before the fork, liburcu may be unusable in the
	 * child. The state RUNNING then makes readers_wait() return false at once. */
	__atomic_store_n(&state, usable ? NONE : RUNNING, __ATOMIC_RELAXED);
}
