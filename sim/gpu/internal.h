/* SPDX-License-Identifier: MIT */
/*
 * Inside the GPU model.
 *
 * Time advances in gpu_step() only. What happens at one instant happens in
 * this order, until nothing is left: kicked queues go on (cp.c; at most one
 * event to the caller at a time), timers that are due fire in the order in
 * which they were set, units that are free are handed out (dispatch.c). Units
 * are thus handed out once all workgroups that end at an instant have ended,
 * which keeps cohorts large.
 *
 * Nothing is allocated while time advances: gpu_submit() and gpu_queue_add()
 * reserve what their packets and queues can need at most, so that -ENOMEM can
 * come from a call alone.
 */
#ifndef KFDSHIM_SIM_GPU_INTERNAL_H
#define KFDSHIM_SIM_GPU_INTERNAL_H

#include "sim/gpu/gpu.h"
#include "sim/gpu/list.h"

#define GPU_UNITS_MAX (UINT32_C(1) << 20)     /* of one GPU; MI300X has about 2^13 */
#define QUEUE_PACKETS_MAX (UINT64_C(1) << 20) /* in one queue: then -EAGAIN */

/* ---- heap.c: timers ---- */

#define TIMER_IDLE UINT32_MAX

enum timer_kind { TIMER_COHORT, TIMER_CP, TIMER_BOUNCE };

struct timer {
	enum timer_kind kind;
	uint32_t pos; /* in the heap; TIMER_IDLE: not set */
};

struct heap_entry {
	uint64_t t, seq;
	struct timer *timer;
};

struct heap {
	struct heap_entry *entries;
	uint32_t n, capacity;
	uint64_t seq; /* of the next entry: breaks ties */
};

int heap_reserve(struct heap *heap, size_t capacity); /* -ENOMEM */
void heap_push(struct heap *heap, struct timer *timer, uint64_t t);
void heap_cancel(struct heap *heap, struct timer *timer);
struct timer *heap_pop(struct heap *heap);

/* ---- the model ---- */

/* Workgroups of one dispatch that began, or began again, together. */
struct cohort {
	struct timer timer;
	struct list node; /* queue.running, queue.saved or gpu.spare */
	struct queue *queue;
	uint64_t packet; /* index in the queue */
	uint32_t first, count;
	uint64_t remain;   /* while saved */
	uint64_t saved_by; /* the bounce (its count) that took it off the GPU last */
};

struct packet {
	struct gpu_packet p; /* as it was submitted */
	uint64_t start;
	uint32_t launched; /* workgroups that have begun: the index of the next */
	uint32_t ended;
	bool complete; /* retires when everything before it has */
};

/* What the command processor does with the packet it stands at. An SDMA queue
 * needs its engine from FETCH on, except in WAIT. */
enum cp_phase {
	CP_IDLE,   /* nothing yet: no packet, or its barrier is not satisfied */
	CP_FETCH,  /* packet_ns */
	CP_EFFECT, /* packet_ns is over */
	CP_LAUNCH, /* DISPATCH: workgroups wait for units */
	CP_WORK,   /* WORK: busy_ns */
	CP_WAIT,   /* WAIT: stands until it is released */
};

struct queue {
	uint32_t id;
	enum gpu_queue_kind kind;
	bool mapped;
	struct engine *engine; /* SDMA */
	struct list on_engine;

	struct packet *ring; /* packet i stands at ring[i & (ring_size - 1)] */
	uint64_t ring_size;
	uint64_t head; /* oldest packet not retired */
	uint64_t cp;   /* where the command processor stands */
	uint64_t tail;

	enum cp_phase phase;
	uint64_t remain;       /* FETCH, WORK: what is left while the timer is not set */
	struct timer cp_timer; /* set while the command processor (or engine) works */
	bool announced;	       /* WAIT: the event was reported */
	bool released;	       /* WAIT: gpu_release() was called */

	struct list kicked;    /* gpu.kicked: cp_advance() may have something to do */
	struct list waiting;   /* gpu.waiting: mapped and CP_LAUNCH */
	struct list restoring; /* gpu.restoring: mapped, with saved state to place */
	struct list running;   /* cohorts on the GPU, in order of launch */
	struct list saved;     /* cohorts off the GPU */
	uint64_t saved_units;
	struct cohort *fresh; /* what the hand-out `fresh_round` gave to this queue */
	uint64_t fresh_round;
	uint64_t reserve_sum; /* cohorts that its packets can need, each by itself */

	uint64_t held; /* units */
	bool working;  /* a WORK packet is running */
	uint64_t accounted_at;
	struct gpu_queue_stats stats;
};

struct engine {
	struct queue *current; /* whose packet it works on */
	struct list queues;    /* whose turn comes next stands first */
	uint32_t n;
};

struct bounce {
	struct bounce *next;
	uint64_t tag;
	size_t n;
	struct gpu_change changes[];
};

enum bounce_phase { BOUNCE_NONE, BOUNCE_UNMAP, BOUNCE_MAP };

struct chunk {
	struct chunk *next;
	struct cohort cohorts[];
};

struct gpu {
	struct gpu_config config;
	uint64_t now;
	struct heap heap;

	struct queue **queues; /* by id; NULL: free */
	uint32_t n_ids;	       /* length of queues */
	uint32_t n_queues;
	struct engine *engines;
	struct list kicked;

	uint32_t units;	     /* of the GPU */
	uint32_t free;	     /* of them */
	struct list waiting; /* whose turn it is stands first */
	struct list restoring;
	bool hand_out;	/* units became free or somebody came to want some */
	uint64_t round; /* counts hand-outs */
	struct chunk *chunks;
	struct list spare; /* free cohorts */
	uint64_t cohorts;  /* in all chunks */
	uint64_t reserved; /* of them promised to packets */

	struct bounce *bounces; /* the one under way first */
	enum bounce_phase bounce_phase;
	struct timer bounce_timer;
	uint64_t bounce_count;
	uint64_t save_ns, restore_ns; /* of the bounce under way */
};

static inline uint64_t time_add(uint64_t t, uint64_t span)
{
	return span > UINT64_MAX - t ? UINT64_MAX : t + span;
}

static inline struct packet *queue_packet(const struct queue *queue, uint64_t i)
{
	return &queue->ring[i & (queue->ring_size - 1)];
}

/* ---- queue.c ---- */

struct queue *queue_find(const struct gpu *gpu, uint32_t id); /* or NULL */
/* Before any change of queue->held or queue->working. */
void queue_account(struct gpu *gpu, struct queue *queue);
void queue_free(struct queue *queue);
int queue_reserve_timers(struct gpu *gpu); /* -ENOMEM */
/* The packet retires: the cohorts promised to it are free for others. */
void queue_unreserve(struct gpu *gpu, struct queue *queue, const struct gpu_packet *packet);

/* ---- cp.c: command processors and SDMA engines ---- */

/* Looks at the queue again before time goes on. */
void cp_kick(struct gpu *gpu, struct queue *queue);
/* One step of a kicked queue at this instant. True: *event is filled, and the
 * queue stays kicked; false: nothing more to do now. */
bool cp_advance(struct gpu *gpu, struct queue *queue, struct gpu_event *event);
void cp_timer_fired(struct gpu *gpu, struct queue *queue);
/* The dispatch at the command processor launched its last workgroup. */
void cp_launched(struct gpu *gpu, struct queue *queue);
/* All queues stop, and what is left of their work is kept. */
void cp_stop(struct gpu *gpu, struct queue *queue);
/* A mapped queue goes on. */
void cp_start(struct gpu *gpu, struct queue *queue);
/* The queue is going: its engine is free for others. */
void cp_forget(struct gpu *gpu, struct queue *queue);

/* ---- dispatch.c: units and cohorts ---- */

/* Enough cohorts for `more` beyond what is reserved; takes them. -ENOMEM. */
int cohorts_reserve(struct gpu *gpu, uint64_t more);
void cohorts_free(struct gpu *gpu);
/* Gives everything that is waiting the units there are. */
void dispatch_hand_out(struct gpu *gpu);
/* True: *event is filled (a traced cohort). */
bool dispatch_cohort_ended(struct gpu *gpu, struct cohort *cohort, struct gpu_event *event);
/* The queue may take units for new workgroups, after all that wait already. */
void dispatch_wait(struct gpu *gpu, struct queue *queue);
/* Takes the queue's cohorts off the GPU, each with what is left of it. False: none. */
bool dispatch_save(struct gpu *gpu, struct queue *queue);
/* A mapped queue at the end of a bounce: what the bounce itself took off the GPU
 * has its units again, what earlier ones did waits for units, before all that is
 * new. */
void dispatch_restore(struct gpu *gpu, struct queue *queue);
/* Drops all cohorts of a queue that is going. */
void dispatch_drop(struct gpu *gpu, struct queue *queue);

/* ---- bounce.c ---- */

/* Starts the bounce that waits first, if none is under way. */
void bounce_start(struct gpu *gpu);
void bounce_timer_fired(struct gpu *gpu, struct gpu_event *event);
/* No bounce speaks of this queue any more. */
void bounce_forget(struct gpu *gpu, uint32_t queue);

static inline bool queue_runs(const struct gpu *gpu, const struct queue *queue)
{
	return queue->mapped && gpu->bounce_phase == BOUNCE_NONE;
}

#endif
