// SPDX-License-Identifier: MIT
#include "shim/look.h"

#include "shim/activity.h"
#include "shim/config.h"
#include "shim/ends.h"
#include "shim/evidence.h"
#include "shim/queues.h"

#define QUIET_MIN_NS 2000000u /* shorter gaps between kernels are not an end */

/*
 * The sampling period. A wake of a thread costs 3 us on a good day and 40 us in a
 * virtual machine, so it looks no oftener than it has use for: after a quarter of
 * the time that things have been as they are, within these bounds.
 */
#define LOOK_SHIFT 2
#define LOOK_MIN_NS 1000000u
#define LOOK_MAX_NS 16000000u

/*
 * While less urgent work is held for a queue whose ends are not shown by a thread, each moment until
 * the end is found is lost: then it looks closely. The daemon takes less than a millisecond to hold the
 * work, so a node at which work was held lately counts, too.
 */
#define CLOSE_NS 50000u
#define LATELY_NS 100000000u

/* Longer kernels are not expected: one packet that stood for seconds must not make each later end late. */
#define KERNEL_MAX_NS 100000000u

/* Between looks so far apart the process was stopped, or had no core: when the read pointer moved in that
 * time is not known. */
#define FAR_NS (4 * LOOK_MAX_NS)

/* A program may ring one queue through the hooks and past them (it resolves some functions by handle). So
 * many starts in a row that are announced show that it does not, or that the one was the runtime's own. */
#define ANNOUNCED 16u

/* A completion signal above 0 that nobody waits for may be of a kernel that runs,
 * or in use again: it is believed for so long. */
#define UNFINISHED_NS 100000000u

static bool is_close(const struct queue *q, uint64_t now_ns)
{
	const struct node *node = q->node == NODE_NONE ? NULL : &queues.nodes[q->node];

	return q->active && q->found && node && node->holds_ns &&
	       now_ns - node->holds_ns < LATELY_NS;
}

static uint64_t period(const struct queue *q, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t part = (now_ns - since_ns) >> LOOK_SHIFT;

	if (is_close(q, now_ns))
		return CLOSE_NS;
	if (part < LOOK_MIN_NS)
		return LOOK_MIN_NS;
	return part > LOOK_MAX_NS ? LOOK_MAX_NS : part;
}

/* A gap that is shorter than the sampling period cannot be told from work. After a short burst of copies a
 * shorter gap is an end; of kernels it is not, because equal pointers can hide the last one. */
static uint64_t gap_limit(const struct queue *q, uint64_t now_ns)
{
	uint64_t look = period(q, q->since_ns, now_ns), burst = q->changed_ns - q->since_ns;
	uint64_t least = QUIET_MIN_NS;

	if (is_close(q, now_ns) && queue_is_sdma(q) && burst >> LOOK_SHIFT < least)
		least = burst >> LOOK_SHIFT;
	return look < least ? least : look;
}

static uint64_t quiet_limit(const struct queue *q, uint64_t now_ns)
{
	uint64_t kernel = q->longest_ns + q->longest_ns / 2;
	uint64_t gap = gap_limit(q, now_ns);

	return kernel < gap ? gap : kernel;
}

static void measure_anew(struct queue *q)
{
	q->stalled_ns = 0;
	q->stood = false;
}

static void stalled(struct queue *q, uint64_t now_ns)
{
	uint64_t standing = now_ns - q->stalled_ns;

	if (standing > KERNEL_MAX_NS)
		standing = KERNEL_MAX_NS;
	q->longest_ns = standing > q->longest_ns ? standing : q->longest_ns;
	q->stood = true;
}

/* Not drained. Its first packet is being carried out, or waits. An offline process's queue
 * is never called blocked: from one moment to the next it could run beside somebody's
 * request. */
static void look_at_standing(struct queue *q, uint64_t r, uint64_t now_ns)
{
	bool may = config.priority == PRIORITY_UNSET || config.priority > PRIORITY_OFFLINE;

	if (!q->stalled_ns) {
		q->stalled_ns = now_ns;
		return;
	}
	/* Where the read pointer passes a packet when it is taken up, the kernel
	 * before the barrier may still run: as long as one ever did. */
	if (may && evidence_of_block(q, r)) {
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

/* Drained. Where the read pointer passes a packet when it is taken up, the last
 * kernel may still run; its signal tells, or whoever waits for that, or time. */
static void look_at_drained(struct queue *q, uint64_t w, uint64_t now_ns)
{
	uint64_t quiet = now_ns - q->changed_ns, signal;
	uint64_t least = is_close(q, now_ns) ? CLOSE_NS : gap_limit(q, now_ns);
	bool over = quiet >= quiet_limit(q, now_ns);

	measure_anew(q);
	if (quiet < least)
		return;
	switch (evidence_of_end(q, w, &signal)) {
	case EVIDENCE_DONE:
		over = true;
		break;
	case EVIDENCE_UNFINISHED:
		over = over && quiet >= UNFINISHED_NS;
		if (!ends_is_waited_for(signal))
			break;
		q->changed_ns = now_ns;
		over = false;
		break;
	case EVIDENCE_NONE:
		break;
	}
	if (!over)
		return;
	q->found = true;
	activity_try_end(q, w, now_ns);
}

static void read_pointer_moved(struct queue *q, uint64_t r, uint64_t now_ns)
{
	/* It stood until some moment after the last look. */
	if (q->stood)
		stalled(q, now_ns);
	q->seen_rptr = r;
	q->changed_ns = now_ns;
	measure_anew(q);
	activity_block(q, false, now_ns);
}

/*
 * A wait has shown the end of the last packet. Without barrier bits one before it may
 * still run; and the read pointer may lag behind what the wait has shown, but not for
 * long: where it goes on standing before the end, there is work, and no value shows its end.
 */
static void look_at_idle(struct queue *q, uint64_t r, uint64_t w, uint64_t now_ns)
{
	if (queue_drained(q, r, w) || now_ns - q->idle_ns < QUIET_MIN_NS)
		return;
	__atomic_store_n(&q->refuted, w, __ATOMIC_RELAXED);
	activity_begin(q, now_ns);
}

/* A hook's request may wait for the lock that this look holds. */
static bool is_missed(const struct queue *q)
{
	return q->hooked && !q->active && __atomic_load_n(&q->rung, __ATOMIC_RELAXED) == 0;
}

static void look_at(struct queue *q, uint64_t now_ns, bool suspended)
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
		look_at_idle(q, r, w, now_ns);
	if (!q->active)
		return;
	if (suspended) {
		q->changed_ns = now_ns;
		measure_anew(q);
		return;
	}
	if (queue_drained(q, r, w))
		look_at_drained(q, w, now_ns);
	else
		look_at_standing(q, r, now_ns);
}

/* When does this queue want the next look? */
static uint64_t look_after(const struct queue *q, uint64_t now_ns)
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

uint64_t look_at_queues(uint64_t now_ns, bool suspended)
{
	bool far = now_ns - queues.looked_ns > FAR_NS;
	uint64_t next = UINT64_MAX, after;
	struct queue *q;

	queues.looked_ns = now_ns;
	for (uint32_t i = 0; i < queues.end; i++) {
		q = queues.table[i];
		if (!q || !q->readable || q->stopped)
			continue;
		if (far)
			measure_anew(q);
		look_at(q, now_ns, suspended);
		after = look_after(q, now_ns);
		next = after < next ? after : next;
	}
	return next;
}
