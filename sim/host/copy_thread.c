// SPDX-License-Identifier: MIT
/*
 * Makes the copies and fills that packets request. They begin when the packet ends (PM4: when it
 * begins).
 *
 * However large a copy is, it is made in parts, so that no other work is delayed for long. What can
 * be copied in 1 ms is copied in the calling thread; such copies get at most a quarter of the time.
 * The rest is copied by the copy thread, which has ordinary priority. It releases sim->lock between
 * its time slices, and as soon as another thread waits for the lock. The packet completes when all
 * bytes are copied; until then further events of its queue are held back in order.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "sim/driver/queue.h"

#define PIECE 65536u   /* bytes between two readings of the clock */
#define ROW_WORK 4096u /* time to begin a row, in bytes that could be copied in that time */
/* longest turn of the copy thread */
#define SLICE_NS 1000000u
#define SHARE 4u       /* copies in the calling thread get at most 1/SHARE of the time */
#define TINY 4096u     /* bytes; copied at once in any case */
#define HELD_MAX 4096u /* limit of events that are held back for one queue */
#define HELD_EACH 3u   /* held events that one packet can add: STARTED, WAITING, RETIRED */

/* Limit of one time slice of the copy thread, or of the copies that the calling thread makes for a
 * packet itself. */
struct work_share {
	uint64_t until_ns, work;
	bool yields; /* the limit is reached, too, when another thread waits for sim->lock */
	bool spent;
};

static bool ended(const struct move *move)
{
	return move->slice == move->slices || !move->bytes || !move->rows;
}

/* Copies the next bytes, at most to the end of the row. Returns their number, or -EFAULT. */
static int64_t move_piece(const struct process *process, struct move *move)
{
	uint64_t n = move->bytes - move->at, most = PIECE;
	uint64_t dst = move->dst + move->slice * move->dst_slice + move->row * move->dst_pitch;
	uint64_t src = move->src + move->slice * move->src_slice + move->row * move->src_pitch;
	int r;

	if (move->pattern_bytes)
		most -= most % move->pattern_bytes;
	if (n > most)
		n = most;
	if (move->pattern_bytes)
		r = access_fill(process, dst + move->at, n, move->pattern, move->pattern_bytes,
				&move->fault);
	else
		r = access_copy(process, dst + move->at, src + move->at, n, &move->fault);
	if (r)
		return r;
	move->at += n;
	if (move->at < move->bytes)
		return (int64_t)n;
	move->at = 0;
	if (++move->row < move->rows)
		return (int64_t)n;
	move->row = 0;
	move->slice++;
	return (int64_t)n;
}

static void spend(const struct sim *sim, struct work_share *share, uint64_t work)
{
	share->work += work;
	if (share->work < PIECE)
		return;
	share->work = 0;
	share->spent = (share->yields && __atomic_load_n(&sim->wanted, __ATOMIC_RELAXED)) ||
		       clock_ns() >= share->until_ns;
}

/* Copies until all is copied or the limit @share is reached. Returns 0: all is copied; 1: the limit
 * is reached; -EFAULT. */
static int move_slice(struct queue *queue, struct work_share *share)
{
	struct process *process = queue->process;
	struct move *move = &queue->moving.move;

	process->acting = queue->node;
	while (!ended(move)) {
		int64_t n;

		if (share->spent)
			return 1;
		n = move_piece(process, move);
		if (n < 0)
			return (int)n;
		spend(process->sim, share, (uint64_t)n + ROW_WORK);
	}
	return 0;
}

static bool tiny(const struct move *move)
{
	return move->rows == 1 && move->slices == 1 && move->bytes <= TINY;
}

/* Copies what may be copied in the calling thread; returns as move_slice(). Such copies get at most
 * 1/SHARE of the time, because the calling thread may have real-time priority. After a pause they
 * may take SLICE_NS in one go. Tiny copies, and all copies in virtual time, have no limit. */
static int move_at_once(struct queue *queue)
{
	const uint64_t advance = SHARE * SLICE_NS;
	struct sim *sim = queue->process->sim;
	struct work_share share = {.until_ns = UINT64_MAX};
	uint64_t begin, owed;
	int r;

	if (sim->time || tiny(&queue->moving.move))
		return move_slice(queue, &share);
	begin = clock_ns();
	if (sim->move_paid_ns < begin)
		sim->move_paid_ns = begin;
	owed = sim->move_paid_ns - begin;
	if (owed >= advance)
		return 1;
	share.until_ns = begin + (advance - owed) / SHARE;
	r = move_slice(queue, &share);
	sim->move_paid_ns += SHARE * (clock_ns() - begin);
	return r;
}

int move_begin(struct queue *queue)
{
	struct sim *sim = queue->process->sim;
	struct moving *moving = &queue->moving;
	int r = move_at_once(queue);

	if (!r)
		return 0;
	if (r > 0 && !moving->held) {
		moving->held = malloc(HELD_MAX * sizeof *moving->held);
		if (!moving->held) {
			queue_halt(queue, "out of memory for a large copy");
			sim->fault_va = moving->move.dst;
			r = -ENOMEM;
		}
	}
	if (r < 0) {
		engine_fault(queue);
		return 1;
	}
	moving->under_way = true;
	TAILQ_INSERT_TAIL(&sim->copies, queue, copy_entry);
	pthread_cond_signal(&sim->move_begun);
	return 1;
}

/* Holds the event back. Returns false, for lack of room, only for workgroup events. There is always
 * room for other events, because they are at most HELD_EACH * QUEUE_AHEAD: a packet that is not
 * complete keeps its place in queue->ahead. */
bool move_hold(struct queue *queue, const struct gpu_event *event)
{
	struct moving *moving = &queue->moving;

	if (event->type == GPU_EVENT_WORKGROUPS &&
	    moving->n_held >= HELD_MAX - HELD_EACH * QUEUE_AHEAD)
		return false;
	moving->held[moving->n_held++] = *event;
	return true;
}

struct queue *move_next_over(struct sim *sim)
{
	struct queue *queue = TAILQ_FIRST(&sim->moved);

	if (!queue)
		return NULL;
	TAILQ_REMOVE(&sim->moved, queue, copy_entry);
	queue->moving.under_way = queue->moving.over = false;
	return queue;
}

void move_drop(struct queue *queue)
{
	struct sim *sim = queue->process->sim;

	if (queue->moving.over)
		TAILQ_REMOVE(&sim->moved, queue, copy_entry);
	else if (queue->moving.under_way)
		TAILQ_REMOVE(&sim->copies, queue, copy_entry);
	free(queue->moving.held);
}

/* Copies for one SLICE_NS for the first queue in sim->copies. Returns true if its copy is over. */
static bool next_slice(struct sim *sim)
{
	struct queue *queue = TAILQ_FIRST(&sim->copies);
	struct work_share share = {.until_ns = clock_ns() + SLICE_NS, .yields = true};
	int r = 0;

	TAILQ_REMOVE(&sim->copies, queue, copy_entry);
	if (!queue->process->dead && !queue->stopped)
		r = move_slice(queue, &share);
	if (r > 0) {
		TAILQ_INSERT_TAIL(&sim->copies, queue, copy_entry);
		return false;
	}
	if (r < 0)
		engine_fault(queue);
	queue->moving.over = true;
	TAILQ_INSERT_TAIL(&sim->moved, queue, copy_entry);
	return true;
}

/* Runs the copy thread. When it releases sim->lock, priority inheritance passes the lock to a
 * waiting thread at once. */
static void *move_all(void *arg)
{
	struct sim *sim = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&sim->lock);
	while (!sim->copy_thread_stop) {
		bool over;

		if (TAILQ_EMPTY(&sim->copies)) {
			pthread_cond_wait(&sim->move_begun, &sim->lock);
			continue;
		}
		over = next_slice(sim);
		pthread_mutex_unlock(&sim->lock);
		if (over && write(sim->wake_fd, &one, sizeof one) < 0)
			over = false; /* the eventfd is readable already */
		pthread_mutex_lock(&sim->lock);
	}
	pthread_mutex_unlock(&sim->lock);
	return NULL;
}

int copy_thread_start(struct sim *sim)
{
	return -pthread_create(&sim->copy_entry, NULL, move_all, sim);
}

void copy_thread_stop(struct sim *sim)
{
	pthread_mutex_lock(&sim->lock);
	sim->copy_thread_stop = true;
	pthread_cond_signal(&sim->move_begun);
	pthread_mutex_unlock(&sim->lock);
	pthread_join(sim->copy_entry, NULL);
}
