// SPDX-License-Identifier: MIT
#include "shim/activity.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "common/clock.h"
#include "preload/agent.h"
#include "shim/link.h"
#include "shim/sampler.h"

#define QUIET_MIN_NS 2000000u /* shorter gaps between kernels are not an end */

/* How long until the next look. A wake of a thread costs 3 us on a good day and
 * 30 us in a virtual machine, so it looks no oftener than it has use for. */
#define LOOK_ACTIVE_MIN_NS 1000000u /* a quarter of the quiet time awaited ... */
#define LOOK_ACTIVE_MAX_NS 4000000u
#define LOOK_UNSEEN_NS 2000000u /* work may begin that no hook sees */
#define LOOK_RARE_NS 20000000u	/* ... but hooks see this program's doorbells, and */
#define RECENT_NS 50000000u	/* nothing else has moved for this long */

#define WAITERS 32u /* threads whose wait is remembered at a time */

/* One outlier (a queue that stood on somebody's signal for a minute) must not
 * make every later end late: each idle forgets a sixteenth. */
#define FORGET_SHIFT 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t requests; /* somebody left one in a queue */
static uint64_t *hot;
static uint64_t waiting[WAITERS]; /* signals that threads wait for now; 0: free */

void activity_init(uint64_t *table)
{
	pthread_mutex_init(&lock, NULL);
	requests = 0;
	hot = table;
	memset(waiting, 0, sizeof(waiting));
	for (uint32_t i = 0; i < KFDSHIM_HOT; i++)
		__atomic_store_n(&hot[i], 0, __ATOMIC_RELAXED);
}

static void hot_set(uint64_t signal)
{
	if (signal)
		__atomic_store_n(&hot[kfdshim_hot(signal)], signal, __ATOMIC_RELAXED);
}

static void seen(struct queue *q, uint64_t wptr)
{
	__atomic_store_n(&q->seen_wptr, wptr, __ATOMIC_RELAXED);
}

static void hot_clear(uint64_t signal)
{
	if (signal && __atomic_load_n(&hot[kfdshim_hot(signal)], __ATOMIC_RELAXED) == signal)
		__atomic_store_n(&hot[kfdshim_hot(signal)], 0, __ATOMIC_RELAXED);
}

static void node_count(struct queue *q, bool active, uint64_t now_ns)
{
	struct node *node;

	__atomic_add_fetch(&queues.active, active ? 1 : -1u, __ATOMIC_RELAXED);
	if (q->node == NODE_NONE)
		return;
	node = &queues.nodes[q->node];
	node->active += active ? 1 : -1u;
	if (node->active != (active ? 1u : 0u))
		return;
	node->since_ns = now_ns;
	link_node(q->node, active, now_ns);
}

static void activate(struct queue *q, uint64_t now_ns)
{
	q->changed_ns = now_ns;
	hot_set(q->doorbell);
	if (q->active)
		return;
	q->stalled_ns = 0;
	__atomic_store_n(&q->active, true, __ATOMIC_RELEASE);
	node_count(q, true, now_ns);
	link_queue(q);
	sampler_wake();
}

/*
 * Ends the activity if nothing was submitted after `wptr`. Flag, then look:
 * the submitter moves the write pointer and then reads the hot table, we clear
 * the hot table and then read the write pointer, so one of us sees the other.
 * (Its read may pass its store on the way if that was a plain one; then the
 * sampler sees the pointer at its next look, and before it sleeps it makes
 * such a pair impossible.)
 */
static void judge_idle(struct queue *q, uint64_t wptr, uint64_t now_ns)
{
	uint64_t r, w;

	__atomic_store_n(&q->active, false, __ATOMIC_RELAXED);
	hot_clear(q->doorbell);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (queue_pointers(q, &r, &w) && w != wptr) {
		__atomic_store_n(&q->active, true, __ATOMIC_RELEASE);
		hot_set(q->doorbell);
		return;
	}
	seen(q, wptr);
	q->longest_ns -= q->longest_ns >> FORGET_SHIFT;
	node_count(q, false, now_ns);
	link_queue(q);
}

/* A burst that began and drained between two looks: seen, and over. */
static void pulse(struct queue *q, uint64_t wptr, uint64_t now_ns)
{
	seen(q, wptr);
	q->changed_ns = now_ns;
	if (q->node == NODE_NONE || queues.nodes[q->node].active)
		return;
	link_node(q->node, true, now_ns);
	link_node(q->node, false, now_ns);
}

static void serve_rung(struct queue *q, uint64_t signal, uint64_t now_ns)
{
	bool first = !q->hooked;

	q->doorbell = signal;
	__atomic_store_n(&q->hooked, true, __ATOMIC_RELAXED);
	activate(q, now_ns);
	if (first)
		link_queue(q);
}

static void serve_done(struct queue *q, uint64_t done, uint64_t now_ns)
{
	uint64_t r, w;

	if (!queue_pointers(q, &r, &w) || w != done)
		return;
	if (q->active)
		judge_idle(q, done, now_ns);
	else if (w != q->seen_wptr)
		pulse(q, w, now_ns);
}

static void serve(void)
{
	uint64_t now_ns = 0, rung, done;
	struct queue *q;

	while (__atomic_exchange_n(&requests, 0, __ATOMIC_SEQ_CST)) {
		now_ns = now_ns ? now_ns : clock_ns();
		for (uint32_t i = 0; i < queues.end; i++) {
			q = queues.table[i];
			if (!q)
				continue;
			rung = __atomic_exchange_n(&q->rung, 0, __ATOMIC_ACQUIRE);
			if (rung)
				serve_rung(q, rung, now_ns);
			done = __atomic_exchange_n(&q->done, 0, __ATOMIC_ACQUIRE);
			if (done)
				serve_done(q, done, now_ns);
		}
	}
}

void agent_lock(void)
{
	pthread_mutex_lock(&lock);
}

void agent_unlock(void)
{
	do {
		serve();
		pthread_mutex_unlock(&lock);
		/* A request that came after serve() and found the lock held. */
	} while (__atomic_load_n(&requests, __ATOMIC_SEQ_CST) && pthread_mutex_trylock(&lock) == 0);
}

static void request(void)
{
	__atomic_store_n(&requests, 1, __ATOMIC_SEQ_CST);
	if (pthread_mutex_trylock(&lock) == 0)
		agent_unlock();
}

void activity_doorbell(uint64_t signal)
{
	uint64_t hsa_queue = *(const uint64_t *)(uintptr_t)(signal + KFDSHIM_SIGNAL_QUEUE_PTR);
	int saved = errno;
	struct queue *q;
	bool ask;

	rcu_begin();
	q = queue_by_hsa(hsa_queue);
	/* Active and yet not hot: its place in the table is taken by another. */
	ask = q && (!__atomic_load_n(&q->active, __ATOMIC_SEQ_CST) ||
		    !__atomic_load_n(&q->hooked, __ATOMIC_RELAXED));
	if (ask)
		__atomic_store_n(&q->rung, signal, __ATOMIC_RELEASE);
	rcu_end();
	if (ask)
		request();
	errno = saved;
}

uint32_t activity_wait_begin(uint64_t signal)
{
	uint64_t none;

	if (__atomic_load_n(&queues.active, __ATOMIC_RELAXED) == 0)
		return KFDSHIM_NO_TICKET;
	for (uint32_t i = 0; i < WAITERS; i++) {
		none = 0;
		if (__atomic_load_n(&waiting[i], __ATOMIC_RELAXED) == 0 &&
		    __atomic_compare_exchange_n(&waiting[i], &none, signal, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return i;
	}
	return KFDSHIM_NO_TICKET;
}

static bool is_waited_for(uint64_t signal)
{
	for (uint32_t i = 0; i < WAITERS; i++)
		if (__atomic_load_n(&waiting[i], __ATOMIC_RELAXED) == signal)
			return true;
	return false;
}

/* Does the end of `signal` show the end of all work of `q`? */
static bool wait_shows_end(struct queue *q, uint64_t signal, uint64_t *done)
{
	uint64_t r, w;
	bool active;

	if (q->careful || !queue_pointers(q, &r, &w))
		return false;
	*done = w;
	active = __atomic_load_n(&q->active, __ATOMIC_RELAXED);
	/* An SDMA engine takes its packets in order, and its last one is the
	 * fence or trap that tells of the copy: drained is done. */
	if (queue_is_sdma(q))
		return (active || w != __atomic_load_n(&q->seen_wptr, __ATOMIC_RELAXED)) &&
		       queue_drained(q, r, w);
	return active && queue_last_signal(q, w) == signal;
}

void activity_wait_end(uint32_t ticket, uint64_t signal, bool met)
{
	int saved = errno;
	bool ask = false;
	uint64_t done;
	uint32_t end;
	struct queue *q;

	if (ticket < WAITERS)
		__atomic_store_n(&waiting[ticket], 0, __ATOMIC_RELAXED);
	if (!met || __atomic_load_n(&queues.active, __ATOMIC_RELAXED) == 0)
		return;
	rcu_begin();
	end = __atomic_load_n(&queues.end, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < end; i++) {
		q = __atomic_load_n(&queues.table[i], __ATOMIC_ACQUIRE);
		if (q && wait_shows_end(q, signal, &done)) {
			__atomic_store_n(&q->done, done, __ATOMIC_RELEASE);
			ask = true;
		}
	}
	rcu_end();
	if (ask)
		request();
	errno = saved;
}

void activity_queue_added(struct queue *q, uint64_t now_ns)
{
	uint64_t r, w;

	link_queue(q);
	if (q->node != NODE_NONE)
		link_node(q->node, queues.nodes[q->node].active > 0, now_ns);
	if (queue_pointers(q, &r, &w) && !queue_drained(q, r, w))
		activate(q, now_ns);
}

void activity_queue_removed(struct queue *q, uint64_t now_ns)
{
	if (q->active) {
		__atomic_store_n(&q->active, false, __ATOMIC_RELAXED);
		node_count(q, false, now_ns);
	}
	hot_clear(q->doorbell);
	q->doorbell = 0;
	__atomic_store_n(&q->rung, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&q->done, 0, __ATOMIC_RELAXED);
	link_queue_gone(q);
}

/* Its memory is gone: nothing can ever show its end. */
static void give_up_reading(struct queue *q, uint64_t now_ns)
{
	q->readable = false;
	if (!q->active)
		return;
	__atomic_store_n(&q->active, false, __ATOMIC_RELAXED);
	hot_clear(q->doorbell);
	node_count(q, false, now_ns);
	link_queue(q);
}

static uint64_t quiet_limit(const struct queue *q)
{
	uint64_t limit = q->longest_ns + q->longest_ns / 2;

	return limit < QUIET_MIN_NS ? QUIET_MIN_NS : limit;
}

static void sample_active(struct queue *q, uint64_t r, uint64_t w, uint64_t now_ns)
{
	uint64_t signal;

	if (!queue_drained(q, r, w)) {
		if (!q->stalled_ns)
			q->stalled_ns = now_ns;
		if (now_ns - q->stalled_ns > q->longest_ns)
			q->longest_ns = now_ns - q->stalled_ns;
		return;
	}
	q->stalled_ns = 0;
	if (now_ns - q->changed_ns <= quiet_limit(q))
		return;
	/* Where the read pointer passes a packet when it is taken up, the last
	 * kernel may still run. Whoever waits for it knows. */
	signal = queue_last_signal(q, w);
	if (signal && is_waited_for(signal))
		q->changed_ns = now_ns;
	else
		judge_idle(q, w, now_ns);
}

static void sample_one(struct queue *q, uint64_t now_ns, bool suspended)
{
	uint64_t r, w;

	if (!queue_pointers(q, &r, &w)) {
		if (q->readable)
			give_up_reading(q, now_ns);
		return;
	}
	if (r != q->seen_rptr) {
		q->seen_rptr = r;
		q->changed_ns = now_ns;
		q->stalled_ns = 0;
	}
	if (w != q->seen_wptr) {
		if (!q->active && queue_is_sdma(q) && queue_drained(q, r, w)) {
			pulse(q, w, now_ns);
			return;
		}
		seen(q, w);
		activate(q, now_ns);
	}
	if (!q->active)
		return;
	if (suspended) {
		q->changed_ns = now_ns;
		q->stalled_ns = 0;
		return;
	}
	sample_active(q, r, w, now_ns);
}

/* When does this queue want the next look? */
static uint64_t look_after(const struct queue *q, bool hooks_work, uint64_t now_ns)
{
	uint64_t quarter;

	if (q->active) {
		quarter = quiet_limit(q) / 4;
		if (quarter < LOOK_ACTIVE_MIN_NS)
			return LOOK_ACTIVE_MIN_NS;
		return quarter > LOOK_ACTIVE_MAX_NS ? LOOK_ACTIVE_MAX_NS : quarter;
	}
	if (q->hooked)
		return UINT64_MAX;
	if (hooks_work && now_ns - q->changed_ns > RECENT_NS)
		return LOOK_RARE_NS;
	return LOOK_UNSEEN_NS;
}

uint64_t activity_sample(uint64_t now_ns, bool suspended)
{
	uint64_t next = UINT64_MAX, after;
	bool hooks_work = false;
	struct queue *q;

	for (uint32_t i = 0; i < queues.end; i++)
		hooks_work |= queues.table[i] && queues.table[i]->hooked;
	for (uint32_t i = 0; i < queues.end; i++) {
		q = queues.table[i];
		if (!q || !q->readable)
			continue;
		sample_one(q, now_ns, suspended);
		after = look_after(q, hooks_work, now_ns);
		next = after < next ? after : next;
	}
	return next;
}
