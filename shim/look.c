// SPDX-License-Identifier: MIT
#include "shim/look.h"

#include "shim/activity.h"
#include "shim/completion.h"
#include "shim/config.h"
#include "shim/ends.h"
#include "shim/queue_table.h"

#define QUIET_MIN_NS 2000000u /* a shorter gap between kernels does not end the queue's work */

/*
 * Bounds of the polling period. A wake of a thread costs 3 us at best and 40 us in a virtual
 * machine, so a queue is polled after a quarter of the time for which its state has lasted.
 */
#define POLL_SHIFT 2
#define POLL_MIN_NS 1000000u
#define POLL_MAX_NS 16000000u

/*
 * Polling period of a queue if the daemon keeps less urgent work off the GPU because of this queue,
 * and no thread of the program reports the end of its work. The period is short because until the
 * end is found no process uses the GPU. The daemon needs up to a millisecond to suspend the less
 * urgent work, so the period also applies within LATELY_NS after the daemon last did so.
 */
#define CLOSE_NS 50000u
#define LATELY_NS 100000000u

/* Upper limit of longest_ns, the learned length of a queue's longest kernel. Without it, one packet
 * that ran for seconds would delay the detection of every later end. */
#define KERNEL_MAX_NS 100000000u

/* If two polls are farther apart than this, the process was stopped or had no core, so it is not
 * known when the read pointer moved in between. */
#define FAR_NS (4 * POLL_MAX_NS)

/* If a poll finds work that no hook has announced, the queue's hooks are no longer trusted, because
 * a program may ring a doorbell both through the hooks and around them (it resolves some functions
 * by handle). After this number of announced starts in a row the hooks are trusted again, because
 * the start without an announcement may have been the runtime's own. */
#define ANNOUNCED 16u

/* Time for which a completion signal above 0 keeps a queue active although no thread waits for the
 * signal, which may belong to a kernel that runs, or may be in use again. */
#define UNFINISHED_NS 100000000u

/* Returns true if the queue is polled at the short period CLOSE_NS: the daemon keeps less urgent
 * work off its node, or did so within LATELY_NS, and a poll had to find the queue's previous end of
 * work. */
static bool is_close(const struct shim_queue *q, uint64_t now_ns)
{
	const struct shim_node *node = q->node == NODE_NONE ? NULL : &queues.nodes[q->node];

	return q->active && q->found && node && node->holds_ns &&
	       now_ns - node->holds_ns < LATELY_NS;
}

/* Returns the polling period of a queue whose state has lasted since @since_ns, in ns. */
static uint64_t period(const struct shim_queue *q, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t part = (now_ns - since_ns) >> POLL_SHIFT;

	if (is_close(q, now_ns))
		return CLOSE_NS;
	if (part < POLL_MIN_NS)
		return POLL_MIN_NS;
	return part > POLL_MAX_NS ? POLL_MAX_NS : part;
}

/* Returns the shortest time without movement of a pointer that can mean the end of work, in ns. It
 * is at least the polling period, because a shorter gap cannot be distinguished from work. After a
 * short burst of copies (SDMA) a gap below QUIET_MIN_NS means the end, too. After kernels it does
 * not, because the last kernel can still run when the pointers are equal. */
static uint64_t gap_limit(const struct shim_queue *q, uint64_t now_ns)
{
	uint64_t period_ns = period(q, q->since_ns, now_ns), burst = q->changed_ns - q->since_ns;
	uint64_t least = QUIET_MIN_NS;

	if (is_close(q, now_ns) && queue_is_sdma(q) && burst >> POLL_SHIFT < least)
		least = burst >> POLL_SHIFT;
	return period_ns < least ? least : period_ns;
}

/* Returns the time in ns after which equal pointers that do not move mean the end of work. */
static uint64_t quiet_limit(const struct shim_queue *q, uint64_t now_ns)
{
	uint64_t kernel = q->longest_ns + q->longest_ns / 2;
	uint64_t gap = gap_limit(q, now_ns);

	return kernel < gap ? gap : kernel;
}

static void measure_anew(struct shim_queue *q)
{
	q->stalled_ns = 0;
	q->stood = false;
}

/* Updates the learned length of the longest kernel by the time since q->stalled_ns, in which the
 * read pointer has not moved. */
static void stalled(struct shim_queue *q, uint64_t now_ns)
{
	uint64_t stalled_for_ns = now_ns - q->stalled_ns;

	if (stalled_for_ns > KERNEL_MAX_NS)
		stalled_for_ns = KERNEL_MAX_NS;
	q->longest_ns = stalled_for_ns > q->longest_ns ? stalled_for_ns : q->longest_ns;
	q->stood = true;
}

/* Handles a poll of a queue whose ring is not empty: its first packet runs or waits. A queue of an
 * offline process is never reported as blocked, because its work could begin at any moment, while
 * an online process executes a request. */
static void poll_stalled(struct shim_queue *q, uint64_t r, uint64_t now_ns)
{
	bool may = config.priority == PRIORITY_UNSET || config.priority > PRIORITY_OFFLINE;

	if (!q->stalled_ns) {
		q->stalled_ns = now_ns;
		return;
	}
	/* On some GPUs the read pointer passes a packet when its execution begins. The kernel
	 * before the barrier may still run then, so the queue counts as blocked only after its
	 * quiet time. */
	if (may && completion_of_barrier(q, r)) {
		if (now_ns - q->stalled_ns >= quiet_limit(q, now_ns))
			activity_block(q, true, now_ns);
		return;
	}
	if (q->blocked) {
		activity_block(q, false, now_ns);
		q->stalled_ns = now_ns;
		return;
	}
	stalled(q, now_ns);
}

/* Handles a poll of a queue whose ring is empty. On some GPUs the read pointer passes a packet when
 * its execution begins, so the last kernel may still run. Therefore the work counts as over only if
 * the completion signal is final, or after quiet_limit() if no thread waits for that signal. */
static void poll_drained(struct shim_queue *q, uint64_t w, uint64_t now_ns)
{
	uint64_t quiet = now_ns - q->changed_ns, signal;
	uint64_t least = is_close(q, now_ns) ? CLOSE_NS : gap_limit(q, now_ns);
	bool over = quiet >= quiet_limit(q, now_ns);

	measure_anew(q);
	if (quiet < least)
		return;
	switch (completion_of(q, w, &signal)) {
	case COMPLETION_DONE:
		over = true;
		break;
	case COMPLETION_UNFINISHED:
		over = over && quiet >= UNFINISHED_NS;
		if (!ends_is_waited_for(signal))
			break;
		q->changed_ns = now_ns;
		over = false;
		break;
	case COMPLETION_NONE:
		break;
	}
	if (!over)
		return;
	q->found = true;
	activity_try_end(q, w, now_ns);
}

static void read_pointer_moved(struct shim_queue *q, uint64_t r, uint64_t now_ns)
{
	/* Count the stall up to this poll, because it has ended at some time after the previous
	 * poll. */
	if (q->stood)
		stalled(q, now_ns);
	q->seen_rptr = r;
	q->changed_ns = now_ns;
	measure_anew(q);
	activity_block(q, false, now_ns);
}

/*
 * Handles a poll of a queue that became idle because a thread has seen the end of its work. Without
 * barrier bits a packet before the last one may still run. The read pointer may lag, but only for a
 * short time. So if it stays before the write pointer, there is still work, and the queue becomes
 * active again; from then on a signal value is not accepted as its end (`refuted`).
 */
static void poll_idle(struct shim_queue *q, uint64_t r, uint64_t w, uint64_t now_ns)
{
	if (queue_drained(q, r, w) || now_ns - q->idle_ns < QUIET_MIN_NS)
		return;
	__atomic_store_n(&q->refuted, w, __ATOMIC_RELAXED);
	activity_begin(q, now_ns);
}

/* Returns true if the work that a poll has found on a queue with hooks was not announced by a hook.
 * A request in `rung` is an announcement, which this poll's lock has kept from being served. */
static bool is_missed(const struct shim_queue *q)
{
	return q->hooked && !q->active && __atomic_load_n(&q->rung, __ATOMIC_RELAXED) == 0;
}

static void poll_queue(struct shim_queue *q, uint64_t now_ns, bool suspended)
{
	uint64_t r, w;

	if (!queue_pointers(q, &r, &w)) {
		if (q->readable)
			activity_lose(q, now_ns);
		return;
	}
	if (r != q->seen_rptr)
		read_pointer_moved(q, r, now_ns);
	if (w != q->seen_wptr && is_missed(q))
		__atomic_store_n(&q->missed, ANNOUNCED, __ATOMIC_RELAXED);
	if (w != q->seen_wptr)
		activity_submitted(q, r, w, now_ns);
	if (!q->active)
		poll_idle(q, r, w, now_ns);
	if (!q->active)
		return;
	if (suspended) {
		q->changed_ns = now_ns;
		measure_anew(q);
		return;
	}
	if (queue_drained(q, r, w))
		poll_drained(q, w, now_ns);
	else
		poll_stalled(q, r, now_ns);
}

/* Returns the time until the queue is to be polled next, in ns. */
static uint64_t poll_next(const struct shim_queue *q, uint64_t now_ns)
{
	uint64_t after, quiet, end;

	if (!q->active && !queue_drained(q, q->seen_rptr, q->seen_wptr))
		return period(q, q->idle_ns, now_ns);
	if (!q->active)
		return queue_is_covered(q) ? UINT64_MAX : period(q, q->changed_ns, now_ns);
	after = period(q, q->since_ns, now_ns);
	if (q->stalled_ns)
		return after;
	quiet = now_ns - q->changed_ns;
	end = gap_limit(q, now_ns);
	if (quiet >= end)
		end = quiet_limit(q, now_ns);
	return quiet < end && end - quiet < after ? end - quiet : after;
}

uint64_t poll_queues(uint64_t now_ns, bool suspended)
{
	bool far = now_ns - queues.polled_ns > FAR_NS;
	uint64_t next = UINT64_MAX, after;
	struct shim_queue *q;

	queues.polled_ns = now_ns;
	for (uint32_t i = 0; i < queues.end; i++) {
		q = queues.table[i];
		if (!q || !q->readable || q->stopped)
			continue;
		if (far)
			measure_anew(q);
		poll_queue(q, now_ns, suspended);
		after = poll_next(q, now_ns);
		next = after < next ? after : next;
	}
	return next;
}
