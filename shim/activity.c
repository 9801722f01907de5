// SPDX-License-Identifier: MIT
#include "shim/activity.h"

#include <errno.h>
#include <pthread.h>

#include "channel/agent_abi.h"
#include "common/clock.h"
#include "common/thread_cancel.h"
#include "shim/completion.h"
#include "shim/config.h"
#include "shim/thread.h"

/* Each end of work reduces longest_ns, the duration of the queue's longest kernel, by 1/16, so that
 * one exceptionally long kernel does not delay the detection of every later end. */
#define FORGET_SHIFT 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t requests; /* atomic; not 0: a hook has left a request in a queue */
/* Memory of the preload library: the table of active doorbells, and the count of requests in
 * progress that the program reports. */
static uint64_t *active_doorbells;
static const int64_t *begun;
static const struct activity_events *events;

void activity_init(const struct activity_events *sinks, uint64_t *table,
		   const int64_t *requests_begun)
{
	events = sinks;
	begun = requests_begun;
	pthread_mutex_init(&lock, NULL);
	requests = 0;
	active_doorbells = table;
	for (uint32_t i = 0; i < KFDSHIM_ACTIVE_DOORBELLS; i++)
		__atomic_store_n(&active_doorbells[i], 0, __ATOMIC_RELAXED);
}

static void cache_set(uint64_t signal)
{
	if (signal)
		__atomic_store_n(&active_doorbells[kfdshim_doorbell_slot(signal)], signal,
				 __ATOMIC_RELAXED);
}

static void seen(struct shim_queue *q, uint64_t wptr)
{
	__atomic_store_n(&q->seen_wptr, wptr, __ATOMIC_RELAXED);
}

static void cache_clear(uint64_t signal)
{
	if (signal && __atomic_load_n(&active_doorbells[kfdshim_doorbell_slot(signal)],
				      __ATOMIC_RELAXED) == signal)
		__atomic_store_n(&active_doorbells[kfdshim_doorbell_slot(signal)], 0,
				 __ATOMIC_RELAXED);
}

/* Puts the queue's doorbell into the table of active doorbells, and also the doorbell of its
 * intercept queue (a profiler's queue before this one), if it has one. */
static void cache_enable(const struct shim_queue *q)
{
	cache_set(q->doorbell);
	cache_set(__atomic_load_n(&q->intercept_doorbell, __ATOMIC_RELAXED));
}

static void cache_disable(const struct shim_queue *q)
{
	cache_clear(q->doorbell);
	cache_clear(__atomic_load_n(&q->intercept_doorbell, __ATOMIC_RELAXED));
}

static void node_add(uint32_t index, bool active, uint64_t now_ns)
{
	struct shim_node *node = &queues.nodes[index];

	node->active += active ? 1 : -1u;
	if (node->active != (active ? 1u : 0u))
		return;
	node->since_ns = now_ns;
	events->node(index, active, now_ns);
}

void activity_requests(uint64_t now_ns)
{
	bool any = __atomic_load_n(begun, __ATOMIC_SEQ_CST) > 0;

	for (uint32_t i = 0; i < CLIENT_SHM_NODES && queues.nodes[i].gpu_id; i++) {
		if (queues.nodes[i].requested == any)
			continue;
		queues.nodes[i].requested = any;
		node_add(i, any, now_ns);
	}
}

static void node_count(struct shim_queue *q, bool active, uint64_t now_ns)
{
	if (q->node != NODE_NONE)
		node_add(q->node, active, now_ns);
}

void activity_begin(struct shim_queue *q, uint64_t now_ns)
{
	if (q->stopped)
		return;
	q->changed_ns = now_ns;
	cache_enable(q);
	if (q->active)
		return;
	q->since_ns = now_ns;
	q->stalled_ns = 0;
	q->stood = false;
	__atomic_store_n(&q->active, true, __ATOMIC_RELEASE);
	__atomic_add_fetch(queues.active, 1, __ATOMIC_RELAXED);
	node_count(q, true, now_ns);
	events->queue(q);
	events->event(CLIENT_SHM_EVENT_QUEUE_ACTIVE, q, q->seen_wptr);
	sampler_wake();
}

/* Updates the counts of active queues for a queue that has become idle. The caller has already set
 * `active` to false and removed the queue's doorbells from the table of active doorbells. */
static void deactivated(struct shim_queue *q, uint64_t now_ns)
{
	__atomic_sub_fetch(queues.active, 1, __ATOMIC_RELAXED);
	if (!q->blocked)
		node_count(q, false, now_ns);
	q->blocked = false;
}

void activity_block(struct shim_queue *q, bool blocked, uint64_t now_ns)
{
	if (q->blocked == blocked)
		return;
	q->blocked = blocked;
	q->since_ns = now_ns;
	node_count(q, !blocked, now_ns);
	events->queue(q);
	events->event(blocked ? CLIENT_SHM_EVENT_QUEUE_BLOCKED : CLIENT_SHM_EVENT_QUEUE_ACTIVE, q,
		      q->seen_wptr);
}

/* Checks a second time whether all packets before `wptr` are over. At the first check the last slot
 * may have been reserved but not filled, so that it named the signal of an old packet. Returns true
 * if they are over, or if the pointers cannot be read. */
static bool is_over(const struct shim_queue *q, uint64_t wptr)
{
	uint64_t r, w, signal;

	if (!queue_pointers(q, &r, &w))
		return true;
	return w == wptr &&
	       (queue_drained(q, r, w) || completion_of(q, w, &signal) == COMPLETION_DONE);
}

/*
 * Makes the queue idle without losing a submission that happens at the same time. The submitter
 * moves the write pointer, fills the slot and then reads the table of active doorbells. This
 * function clears the table entry and then reads the read pointer and the slot. So either the
 * submitter sees that the entry is cleared, or this function sees the new packet. (If the
 * submitter's store is a plain one, the CPU can execute it after the read of the table. The sampler
 * then finds the new write pointer at its next poll. Before it sleeps without a next poll, it
 * excludes this case by membarrier().)
 */
void activity_try_end(struct shim_queue *q, uint64_t wptr, uint64_t now_ns)
{
	__atomic_store_n(&q->active, false, __ATOMIC_RELAXED);
	cache_disable(q);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!is_over(q, wptr)) {
		__atomic_store_n(&q->active, true, __ATOMIC_RELEASE);
		cache_enable(q);
		return;
	}
	seen(q, wptr);
	q->idle_ns = now_ns;
	q->longest_ns -= q->longest_ns >> FORGET_SHIFT;
	deactivated(q, now_ns);
	events->queue(q);
	events->event(CLIENT_SHM_EVENT_QUEUE_IDLE, q, wptr);
}

/* Reports an active and an idle event for a queue that was used and has drained again between two
 * polls. */
static void pulse(struct shim_queue *q, uint64_t wptr, uint64_t now_ns)
{
	events->event(CLIENT_SHM_EVENT_QUEUE_ACTIVE, q, q->seen_wptr);
	seen(q, wptr);
	q->changed_ns = q->idle_ns = now_ns;
	events->event(CLIENT_SHM_EVENT_QUEUE_IDLE, q, wptr);
	if (q->node == NODE_NONE || queues.nodes[q->node].active)
		return;
	events->node(q->node, true, now_ns);
	events->node(q->node, false, now_ns);
}

static void serve_rung(struct shim_queue *q, uint64_t signal, uint64_t now_ns)
{
	bool first = !q->hooked;

	if (!q->readable)
		return;
	/* The doorbell of an intercept queue. The profiler that owns this queue passes the packets
	 * on later, and only then does the write pointer of `q` move. So the sampler has to find
	 * the end. */
	if (signal == q->intercept_doorbell) {
		activity_begin(q, now_ns);
		return;
	}
	if (!q->active && q->missed)
		__atomic_store_n(&q->missed, q->missed - 1, __ATOMIC_RELAXED);
	q->doorbell = signal;
	__atomic_store_n(&q->hooked, true, __ATOMIC_RELAXED);
	activity_begin(q, now_ns);
	if (first)
		events->queue(q);
}

static void serve_done(struct shim_queue *q, uint64_t done, uint64_t now_ns)
{
	uint64_t r, w;

	if (!queue_pointers(q, &r, &w) || w != done)
		return;
	q->found = false;
	if (q->active)
		activity_try_end(q, done, now_ns);
	else if (w != q->seen_wptr)
		pulse(q, w, now_ns);
}

/* Makes the queue active. An SDMA queue that has drained is only reported as active and idle
 * (pulse()): its last packet reports the copy, so all of its work is over. */
void activity_submitted(struct shim_queue *q, uint64_t r, uint64_t w, uint64_t now_ns)
{
	if (!q->active && queue_is_sdma(q) && queue_drained(q, r, w)) {
		pulse(q, w, now_ns);
		return;
	}
	seen(q, w);
	activity_begin(q, now_ns);
}

static void serve_moved(struct shim_queue *q, uint64_t now_ns)
{
	uint64_t r, w;

	if (queue_pointers(q, &r, &w) && w != q->seen_wptr)
		activity_submitted(q, r, w, now_ns);
}

/* Carries out the requests that hooks have stored in the queues (`rung`, `moved`, `done`).
 * `requests` is cleared first, so that a request that arrives during the loop sets it again. Under
 * the agent's lock. */
static void serve(void)
{
	uint64_t now_ns = 0, rung, done;
	struct shim_queue *q;

	while (__atomic_exchange_n(&requests, 0, __ATOMIC_SEQ_CST)) {
		now_ns = now_ns ? now_ns : clock_ns();
		for (uint32_t i = 0; i < queues.end; i++) {
			q = queues.table[i];
			if (!q)
				continue;
			rung = __atomic_exchange_n(&q->rung, 0, __ATOMIC_ACQUIRE);
			if (rung)
				serve_rung(q, rung, now_ns);
			if (__atomic_exchange_n(&q->moved, false, __ATOMIC_ACQUIRE))
				serve_moved(q, now_ns);
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
		/* Serve a request that arrived after serve() while the lock was still held: its
		 * hook could not take the lock and did not wait. */
	} while (__atomic_load_n(&requests, __ATOMIC_SEQ_CST) && pthread_mutex_trylock(&lock) == 0);
}

void activity_request(void)
{
	NOT_CANCELLED;

	__atomic_store_n(&requests, 1, __ATOMIC_SEQ_CST);
	if (pthread_mutex_trylock(&lock) == 0)
		agent_unlock();
}

void activity_doorbell(uint64_t signal)
{
	uint64_t hsa_queue = *(const uint64_t *)(uintptr_t)(signal + KFDSHIM_SIGNAL_QUEUE_PTR);
	int saved = errno;
	struct shim_queue *q;
	bool query;

	if (!readers_begin()) {
		errno = saved;
		return;
	}
	q = queue_by_hsa(hsa_queue);
	/* If the queue is active and hooked, its doorbell is missing in the table only because
	 * another doorbell has taken its slot; no request is needed then. */
	query = q && (!__atomic_load_n(&q->active, __ATOMIC_SEQ_CST) ||
		      !__atomic_load_n(&q->hooked, __ATOMIC_RELAXED));
	if (!q) {
		q = queue_by_intercept(signal);
		query = q && !__atomic_load_n(&q->active, __ATOMIC_SEQ_CST);
	}
	if (query)
		__atomic_store_n(&q->rung, signal, __ATOMIC_RELEASE);
	readers_end();
	if (query)
		activity_request();
	errno = saved;
}

/* Makes the queue idle without reading its pointers. */
static void end(struct shim_queue *q, uint64_t now_ns)
{
	__atomic_store_n(&q->active, false, __ATOMIC_RELAXED);
	cache_disable(q);
	deactivated(q, now_ns);
	events->queue(q);
	events->event(CLIENT_SHM_EVENT_QUEUE_IDLE, q, q->seen_wptr);
}

void activity_lose(struct shim_queue *q, uint64_t now_ns)
{
	cache_disable(q);
	queue_lost(q);
	if (q->active)
		end(q, now_ns);
	else
		events->queue(q);
}

void activity_stop(struct shim_queue *q, bool stopped, uint64_t now_ns)
{
	uint64_t r, w;

	if (q->stopped == stopped)
		return;
	q->stopped = stopped;
	if (stopped && q->active)
		end(q, now_ns);
	if (stopped || !queue_pointers(q, &r, &w))
		return;
	seen(q, w);
	if (!queue_drained(q, r, w))
		activity_begin(q, now_ns);
}

void activity_part(uint64_t hsa_queue)
{
	struct shim_queue *q;

	for (uint32_t i = 0; i < queues.end; i++) {
		q = queues.table[i];
		if (!q || q->intercept_queue != hsa_queue)
			continue;
		cache_disable(q);
		queue_part(q);
	}
}

/* Marks as lost an old queue that has the same hsa_queue_t as `q`. DESTROY_QUEUE of the old queue
 * failed, the runtime freed its memory all the same, and `q` now uses that memory, so it must not
 * be read as the old queue's any more. */
static void take_memory_over(const struct shim_queue *q, uint64_t now_ns)
{
	struct shim_queue *old;

	for (uint32_t i = 0; i < queues.end && q->hsa_queue; i++) {
		old = queues.table[i];
		if (old && old != q && old->read_via_kernel && old->hsa_queue == q->hsa_queue)
			activity_lose(old, now_ns);
	}
}

void activity_queue_added(struct shim_queue *q, uint64_t now_ns)
{
	uint64_t r, w;

	q->changed_ns = now_ns;
	take_memory_over(q, now_ns);
	events->queue(q);
	if (q->node != NODE_NONE)
		events->node(q->node, queues.nodes[q->node].active > 0, now_ns);
	activity_requests(now_ns); /* a request in progress makes a new node active, too */
	if (queue_pointers(q, &r, &w) && !queue_drained(q, r, w))
		activity_begin(q, now_ns);
}

/* Makes a queue idle and removes it from the published state and from the table. Under the agent's
 * lock; the caller waits for readers before it frees the queue. */
static void take_out(struct shim_queue *q)
{
	if (q->active) {
		__atomic_store_n(&q->active, false, __ATOMIC_RELAXED);
		deactivated(q, clock_ns());
	}
	cache_disable(q);
	q->doorbell = 0;
	__atomic_store_n(&q->rung, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&q->done, 0, __ATOMIC_RELAXED);
	events->queue_gone(q);
	queue_remove(q);
	events->event(CLIENT_SHM_EVENT_QUEUE_DESTROYED, q, 0);
}

/* ---- entries of the table ---- */

struct shim_queue *entry_take(uint32_t context, uint32_t id)
{
	struct shim_queue *q;

	agent_lock();
	q = shim_queue_by_id(context, id);
	if (q)
		take_out(q);
	agent_unlock();
	if (q)
		q->in_use |= !readers_wait();
	return q;
}

static void add(struct shim_queue *q)
{
	int err;

	agent_lock();
	err = queue_insert(q);
	if (!err) {
		events->event(CLIENT_SHM_EVENT_QUEUE_CREATED, q, q->type);
		activity_queue_added(q, clock_ns());
	}
	agent_unlock();
	if (!err) /* from now on another thread may destroy and free the queue */
		return;
	kfdshim_log(LOG_ERROR,
		    "queue %u is not observed, and neither is its work: use at most %u queues",
		    q->id, QUEUES_MAX);
	shim_queue_free(q);
}

void entry_add_new(struct shim_queue *q)
{
	struct shim_queue *old = entry_take(q->context, q->id);

	if (old)
		shim_queue_free(old);
	add(q);
}

void entry_put_back(struct shim_queue *q, int err)
{
	/* If DESTROY_QUEUE was interrupted, the thunk repeats it. After any other error ROCr frees
	 * the memory of the queue although the queue still exists. */
	if (err != EINTR && err != EAGAIN)
		q->read_via_kernel = true;
	agent_lock();
	events->event(CLIENT_SHM_EVENT_FAILED, q, (uint64_t)err);
	agent_unlock();
	add(q);
}

bool entries_drop_context(uint32_t context)
{
	struct shim_queue *q, *gone;
	bool left;

	do {
		gone = NULL;
		left = false;
		agent_lock();
		for (uint32_t i = 0; i < queues.end; i++) {
			q = queues.table[i];
			if (!q || q->context != context)
				continue;
			if (q->active || gone)
				left = true;
			else
				gone = q;
		}
		if (gone)
			take_out(gone);
		agent_unlock();
		if (gone) {
			gone->in_use = !readers_wait();
			shim_queue_free(gone);
		}
	} while (gone && left);
	return left;
}
