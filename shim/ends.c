// SPDX-License-Identifier: MIT
#include "shim/ends.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "channel/agent_abi.h"
#include "shim/activity.h"
#include "shim/completion.h"
#include "shim/queue_table.h"
#include "shim/readers.h"

#define WAITERS 32u /* largest number of threads whose waits are recorded */
/* Number of places in copies[]. */
#define COPIES 64u

/* Threads that are waiting for a signal; `thread` 0: the entry is free. All members are atomic;
 * only the thread itself changes `signal`. */
static struct end_waiter {
	pthread_t thread;
	uint64_t signal;
} waiters[WAITERS];

/* Completion signals of copies in progress. A copy can wait on the GPU for a queue's kernel; a load
 * that sees the end of the copy may then be the only sign that the queue has ended. Atomic. If two
 * signals have the same index, the older one is forgotten. */
static uint64_t copies[COPIES];

void ends_init(void)
{
	memset(waiters, 0, sizeof(waiters));
	memset(copies, 0, sizeof(copies));
}

static uint64_t *copy_of(uint64_t signal)
{
	return &copies[(signal >> 6) % COPIES]; /* an amd_signal_t is 64 bytes */
}

static bool any_active(void)
{
	return __atomic_load_n(queues.active, __ATOMIC_RELAXED) != 0;
}

static bool take_waiter(struct end_waiter *waiter, pthread_t self)
{
	pthread_t owner = __atomic_load_n(&waiter->thread, __ATOMIC_RELAXED);

	if (owner != self && owner != 0)
		return false;
	return owner == self || __atomic_compare_exchange_n(&waiter->thread, &owner, self, false,
							    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * Records the wait in a free entry of waiters[]. A thread may leave the runtime's wait without a
 * call of ends_wait_end(), because it ends there or a signal handler jumps out. Its entry then
 * stays in use. It is reused by the next wait of the thread, or of a new thread with the same
 * pthread_t (which is likely, because it uses the same stack), so entries do not run out. Until
 * then the old signal counts as waited for, which matters only while the signal stays above 0.
 */
uint32_t ends_wait_begin(uint64_t signal)
{
	pthread_t self = pthread_self();
	uint32_t first = (uint32_t)((self * UINT64_C(0x9e3779b97f4a7c15)) >> 32), i;

	if (!any_active())
		return KFDSHIM_NO_TICKET;
	for (uint32_t n = 0; n < WAITERS; n++) {
		i = (first + n) % WAITERS;
		if (!take_waiter(&waiters[i], self))
			continue;
		__atomic_store_n(&waiters[i].signal, signal, __ATOMIC_RELAXED);
		return i;
	}
	return KFDSHIM_NO_TICKET;
}

/* Frees the calling thread's entry. Does nothing if the entry is free already: a signal handler of
 * the thread has then waited meanwhile, with the same entry, and freed it. */
static void leave_waiter(struct end_waiter *waiter)
{
	if (__atomic_load_n(&waiter->thread, __ATOMIC_RELAXED) != pthread_self())
		return;
	__atomic_store_n(&waiter->signal, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&waiter->thread, 0, __ATOMIC_RELEASE);
}

bool ends_is_waited_for(uint64_t signal)
{
	for (uint32_t i = 0; i < WAITERS; i++)
		if (__atomic_load_n(&waiters[i].signal, __ATOMIC_RELAXED) == signal)
			return true;
	return false;
}

/* Returns true if all work of an SDMA queue has just ended. An SDMA engine executes its packets in
 * order, the last of which reports the copy (fence or trap), so a drained SDMA queue is over. */
static bool engine_has_ended(const struct shim_queue *q, uint64_t r, uint64_t w)
{
	return (__atomic_load_n(&q->active, __ATOMIC_RELAXED) ||
		w != __atomic_load_n(&q->seen_wptr, __ATOMIC_RELAXED)) &&
	       queue_drained(q, r, w);
}

/*
 * Returns true if a final signal of the last packet counts as the end of the queue's work even
 * while the read pointer is still before that packet. It does not count in two cases:
 * - Not all doorbells of the queue have hooks (queue_is_covered()). The last slot may be reserved
 *   and not filled yet, and then names an old signal; activity_try_end() detects that only by
 *   hooks.
 * - A poll has refuted the end at this write pointer (sampler.c). The signal would report that end
 *   again at every load.
 */
static bool may_lag(const struct shim_queue *q, uint64_t w)
{
	return queue_is_covered(q) && w != __atomic_load_n(&q->refuted, __ATOMIC_RELAXED);
}

/*
 * Returns true if all work of @q is over, and sets *done to its write pointer. Checks only a queue
 * whose last packet names @signal. If @any, checks every queue, at the cost of a system call. The
 * value of the signal is read after the write pointer, because the program may have used the signal
 * for another packet since its thread saw the end.
 */
static bool has_ended(const struct shim_queue *q, uint64_t signal, bool any, uint64_t *done)
{
	uint64_t r, w, last;

	if (q->read_via_kernel || !queue_pointers(q, &r, &w))
		return false;
	*done = w;
	if (queue_is_sdma(q))
		return engine_has_ended(q, r, w);
	if (!__atomic_load_n(&q->active, __ATOMIC_RELAXED) || (w != r && !may_lag(q, w)))
		return false;
	last = q->hsa_queue ? completion_signal(q, w) : 0;
	if (!last || last == signal)
		return last && completion_is_final(last);
	return any && w - r <= 1 && completion_of(q, w, &last) == COMPLETION_DONE;
}

/* Requests that the queue becomes idle if its work has ended: stores its write pointer in q->done,
 * for the thread that holds the lock. Returns true if so. */
static bool request_end(struct shim_queue *q, uint64_t signal, bool any)
{
	uint64_t done;

	if (!has_ended(q, signal, any, &done))
		return false;
	__atomic_store_n(&q->done, done, __ATOMIC_RELEASE);
	return true;
}

/* Requests a check of an idle queue whose write pointer has moved. Returns true if it has moved. */
static bool request_start(struct shim_queue *q, uint64_t signal, bool any)
{
	uint64_t r, w;

	(void)signal;
	(void)any;
	if (q->read_via_kernel || __atomic_load_n(&q->active, __ATOMIC_RELAXED) ||
	    !queue_pointers(q, &r, &w) || w == __atomic_load_n(&q->seen_wptr, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&q->moved, true, __ATOMIC_RELEASE);
	return true;
}

/* Calls @request for each queue. Then carries out the requests that it has stored in queues. Keeps
 * errno. */
static inline __attribute__((always_inline)) void
each_queue(bool (*request)(struct shim_queue *q, uint64_t signal, bool any), uint64_t signal,
	   bool any)
{
	int saved = errno;
	bool query = false;
	uint32_t end;
	struct shim_queue *q;

	if (!readers_begin()) {
		errno = saved;
		return;
	}
	end = __atomic_load_n(&queues.end, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < end; i++) {
		q = __atomic_load_n(&queues.table[i], __ATOMIC_ACQUIRE);
		query |= q && request(q, signal, any);
	}
	readers_end();
	if (query)
		activity_request();
	errno = saved;
}

static void poll_for_ends(uint64_t signal, bool any)
{
	each_queue(request_end, signal, any);
}

void ends_wait_end(uint32_t ticket, uint64_t signal, bool over)
{
	if (ticket < WAITERS)
		leave_waiter(&waiters[ticket]);
	if (over && any_active())
		poll_for_ends(signal, true);
}

/* Checks the queues whose last packet names @signal. Checks all queues only at the first load of a
 * copy's signal, because programs load final values again and again. */
void ends_loaded(uint64_t signal)
{
	uint64_t *copy = copy_of(signal);
	bool ends_copy = __atomic_load_n(copy, __ATOMIC_RELAXED) == signal;

	if (ends_copy)
		__atomic_store_n(copy, 0, __ATOMIC_RELAXED);
	poll_for_ends(signal, ends_copy);
}

void ends_events(void)
{
	if (any_active())
		poll_for_ends(0, true);
}

/* Searches for queues whose write pointer has moved: the runtime executes a copy by SDMA or by a
 * kernel of its own, and in both cases no hook sees the doorbell. */
void ends_copied(uint64_t completion)
{
	if (completion)
		__atomic_store_n(copy_of(completion), completion, __ATOMIC_RELAXED);
	each_queue(request_start, 0, true);
}
