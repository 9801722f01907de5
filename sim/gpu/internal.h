/* SPDX-License-Identifier: MIT */
/*
 * Inside the GPU model.
 *
 * Time advances in gpu_step() only. What happens at one instant happens in
 * this order, until nothing is left: kicked queues go on (cp.c; at most one
 * event to the caller at a time), timers that are due fire in the order in
 * which they were set, units that are free are handed out (dispatch.c). Units
 * are thus handed out once all workgroups that end at an instant have ended,
 * which keeps cohorts large; for the same reason cohorts that would end soon after end
 * with them (cohort.c).
 *
 * Nothing is allocated while time advances: gpu_submit() and gpu_queue_add()
 * reserve what their packets and queues can need at most, so that -ENOMEM can
 * come from a call alone.
 */
#ifndef KFDSHIM_SIM_GPU_INTERNAL_H
#define KFDSHIM_SIM_GPU_INTERNAL_H

#include "sim/gpu/cus.h"
#include "sim/gpu/gpu.h"
#include "sim/gpu/list.h"

#define XCCS_MAX 16u
#define UNITS_CU_MAX 63u		      /* levels 0 .. 63 in one word */
#define ENGINES_MAX 64u			      /* of one kind */
#define CLASSES 3u			      /* of priority: low, medium, high */
#define QUEUE_PACKETS_MAX (UINT64_C(1) << 20) /* in one queue: then -EAGAIN */

/* ---- heap.c: timers ---- */

#define TIMER_IDLE UINT32_MAX

enum timer_kind { TIMER_COHORT, TIMER_CP, TIMER_BOUNCE, TIMER_SLICE };

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

/* Workgroups of one cohort on one XCC: `layers` on each of `cus`. Workgroup
 * row * xccs + xcc is in row `row` of its dispatch. */
struct part {
	struct list node;      /* cohort.parts, seat.back or gpu.spare_parts */
	struct cohort *cohort; /* in seat.back: which it came from */
	struct cus cus;
	uint32_t layers;
	uint32_t row, count;
	uint32_t xcc;
};

/* Workgroups of one dispatch that began, or began again, together. */
struct cohort {
	struct timer timer;
	struct list node; /* queue.running, queue.saved, gpu.told or gpu.spare_cohorts */
	struct queue *queue;
	uint64_t packet; /* index in the queue */
	struct list parts;
	uint32_t count;	     /* workgroups in parts */
	uint32_t back;	     /* parts in the seats' `back` */
	uint64_t longer;     /* than wg_ns: to make up for others that ended early */
	uint64_t remain;     /* while saved */
	uint64_t saved_by;   /* the bounce (its count) that took it off the GPU last */
	struct cohort *twin; /* runs again what was given room in hand-out twin_round */
	uint64_t twin_round;
};

struct packet {
	struct gpu_packet p; /* as it was submitted */
	uint64_t start;
	uint32_t ended; /* workgroups */
	bool complete;	/* retires when everything before it has */
};

/* What the command processor does with the packet it stands at. An SDMA queue
 * needs its engine from FETCH on, except in WAIT. */
enum cp_phase {
	CP_IDLE,   /* nothing yet: no packet, or its barrier is not satisfied */
	CP_FETCH,  /* packet_ns */
	CP_EFFECT, /* packet_ns is over */
	CP_LAUNCH, /* DISPATCH: workgroups wait for units */
	CP_WORK,   /* WORK, COPY: busy_ns */
	CP_COPY,   /* COPY: bytes over a link */
	CP_WAIT,   /* WAIT: stands until it is released */
};

/* A queue's place at one XCC. */
struct seat {
	struct list waiting;   /* xcc.waiting: mapped, CP_LAUNCH and rows left */
	struct list restoring; /* xcc.restoring: mapped, with parts in `back` */
	struct list back;      /* saved parts that have to find room again */
	struct queue *queue;
	struct cus open;    /* the CU mask */
	uint32_t row, rows; /* of the dispatch at the command processor: next, all */
	uint64_t blocked;   /* the hand-out in which nothing of it fitted (any more) */
};

struct queue {
	uint32_t id;
	enum gpu_queue_kind kind;
	struct client *client;
	struct list of_client;
	bool mapped;		      /* as bounces asked */
	bool on;		      /* mapped, and has a slot */
	bool chosen;		      /* to have one: see runlist.c */
	bool suspended;		      /* what took it off was a suspend */
	bool suspended_yet;	      /* some bounce was its first suspend */
	uint32_t class, wanted_class; /* of priority; the latter from the next bounce on */
	struct cus *wanted_open;      /* by XCC: the CU mask from the next bounce on; or NULL */
	bool moved;		      /* its mask changed: saved state must find other CUs */
	struct engine *engine;	      /* SDMA */
	struct list on_engine;
	struct list on_link; /* link.copies: while it copies */

	struct packet *ring; /* packet i stands at ring[i & (ring_size - 1)] */
	uint64_t ring_size;
	uint64_t head; /* oldest packet not retired */
	uint64_t cp;   /* where the command processor stands */
	uint64_t tail;
	uint64_t lost; /* packets before it are to be reported as lost */

	enum cp_phase phase;
	uint64_t remain;       /* FETCH, WORK: what is left while the timer is not set */
	struct timer cp_timer; /* set while the command processor (or engine) works */
	uint64_t copy_left;    /* COPY, as of copy_since: see link.c */
	uint64_t copy_since, copy_speed;
	bool announced; /* WAIT: the event was reported */
	bool released;	/* WAIT: gpu_release() was called */

	struct list kicked;   /* gpu.kicked: cp_advance() may have something to do */
	struct list running;  /* cohorts on the GPU, in order of launch */
	struct list saved;    /* cohorts off the GPU, as they lay there */
	uint64_t saved_units; /* in `saved` and the seats' `back` */
	uint32_t launching;   /* seats with rows left */
	struct cohort *fresh; /* what the hand-out `fresh_round` gave to this queue */
	uint64_t fresh_round;
	struct list begins;   /* gpu.begins: it has no timer yet */
	uint64_t reserve_sum; /* cohorts that its packets can need, each by itself */
	uint64_t reserve_cap; /* and all of them together: what fits on the GPU of its smallest */

	uint64_t held;	   /* units */
	int64_t shortfall; /* units x time to make up for: cohorts ended early */
	bool working;	   /* a WORK or COPY packet is running */
	uint64_t accounted_at;
	bool expected;	       /* gpu_queue_expect() */
	bool busy;	       /* times.c: counted as running; with work, and not suspended; */
	bool ready, held_back; /* with work, and suspended */
	struct gpu_queue_stats stats;
	struct seat seats[]; /* by XCC */
};

struct xcc {
	struct cus all;
	struct cus level[UNITS_CU_MAX + 1]; /* CUs with exactly so many free units */
	uint64_t levels;		    /* bit i: level[i] is not empty */
	uint32_t free;			    /* units */
	struct list waiting[CLASSES];	    /* seats; whose turn it is stands first */
	struct list restoring;		    /* seats; before all that wait */
	bool hand_out;			    /* units became free or somebody came to want some */
};

struct engine {
	struct queue *current; /* whose packet it works on */
	struct list queues;    /* whose turn comes next stands first */
	uint32_t n;
};

struct client {
	struct list node;   /* gpu.clients, whose slice comes next first */
	struct list queues; /* likewise */
	uint64_t id;
	bool chosen;
	uint32_t busy, ready, held; /* queues, as their flags say */
	uint64_t run_ns, busy_since;
};

struct link {
	uint64_t bytes_us;
	struct list copies; /* queues */
	uint32_t n;
};

struct bounce {
	struct bounce *next;
	uint64_t tag, unmap_ns, map_ns;
	size_t n;
	struct gpu_change changes[];
};

enum bounce_phase { BOUNCE_NONE, BOUNCE_UNMAP, BOUNCE_MAP, BOUNCE_FAIL };

struct chunk {
	struct chunk *next;
	struct {
		struct cohort cohort;
		struct part part;
	} pairs[];
};

struct gpu {
	struct gpu_config config;
	uint64_t now;
	struct heap heap;

	struct queue **queues; /* by id; NULL: free */
	uint32_t n_ids;	       /* length of queues */
	uint32_t n_queues;
	struct engine *engines;
	uint32_t n_engines;
	struct link links[GPU_LINKS_MAX];
	struct list kicked;
	struct list begins; /* queues whose `fresh` begins in this hand-out */

	uint32_t units; /* of the GPU */
	uint32_t free;	/* of them */
	struct xcc xccs[XCCS_MAX];
	bool hand_out;	/* at some XCC */
	uint64_t round; /* counts hand-outs */
	struct chunk *chunks;
	uint64_t fresh_pairs; /* of the first chunk, not used yet */
	struct list spare_cohorts, spare_parts;
	struct list told;  /* cohorts that ended: traced, and parts still to be reported */
	uint64_t cohorts;  /* in all chunks */
	uint64_t reserved; /* of them promised to packets */

	struct bounce *bounces; /* the one under way first */
	enum bounce_phase bounce_phase;
	struct timer bounce_timer;
	uint64_t bounce_count;
	uint64_t save_ns, restore_ns; /* of the bounce under way */
	uint64_t copy_from;	      /* when that begins in its present phase */
	uint64_t live_bounces;	      /* that found live state */
	bool hung;		      /* a bounce failed: nothing runs until a reset */
	bool excused;		      /* the bounce that is failing: a reset came before its end */
	bool losing;		      /* queues have packets to report as lost */

	struct list clients; /* the runlist */
	uint32_t n_clients;
	bool slicing;		  /* oversubscribed */
	bool switching;		  /* slots change hands */
	bool slice_over;	  /* and nobody wanted a slot */
	bool look_at_slots;	  /* somebody may want one, or be able to leave one */
	struct timer slice_timer; /* the end of the slice, or of the change */
	uint64_t slice_end, slice_left;
	uint64_t switch_save_ns, switch_restore_ns;

	struct gpu_times times;
	uint32_t queues_busy;
	uint32_t clients_held;	/* with work in suspended queues */
	uint32_t clients_ready; /* others with work */
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
void queue_free(struct gpu *gpu, struct queue *queue);
/* Its command processor stops, and its live state is saved. */
void queue_stop(struct gpu *gpu, struct queue *queue);
/* It has a slot from now on, or has none; it stands still as yet, or already. */
void queue_set_on(struct gpu *gpu, struct queue *queue, bool on);
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
/* Every engine that is free works for a queue that wants it. */
void cp_pick_all(struct gpu *gpu);
/* All packets that have begun are to be reported as lost. */
void cp_lose(struct gpu *gpu, struct queue *queue);
/* The next lost packet of any queue. False: there is none left. */
bool cp_tell_lost(struct gpu *gpu, struct gpu_event *event);
/* The queue is going: its engine is free for others. */
void cp_forget(struct gpu *gpu, struct queue *queue);

/* ---- xcc.c: the room on one XCC ---- */

void xcc_init(struct xcc *xcc, uint32_t cus, uint32_t units);
/* Takes room for up to `want` workgroups of so many units: `layers` on each of
 * *cus. Returns how many; there may be room for more elsewhere. 0: none. */
uint32_t xcc_take(struct xcc *xcc, struct cus open, uint32_t units, uint32_t want, struct cus *cus,
		  uint32_t *layers);
/* So many units on each of the CUs. */
void xcc_hold(struct xcc *xcc, struct cus cus, uint32_t units);
void xcc_give(struct xcc *xcc, struct cus cus, uint32_t units);
/* How many workgroups of so many units fit. */
uint32_t xcc_room(const struct xcc *xcc, struct cus open, uint32_t units);
/* The one CU with the most room; none if `open` is empty. */
struct cus xcc_roomiest(const struct xcc *xcc, struct cus open);

/* ---- cohort.c: cohorts, and saving and restoring them ---- */

/* Enough cohorts for `more` beyond what is reserved; takes them. -ENOMEM. */
int cohorts_reserve(struct gpu *gpu, uint64_t more);
void cohorts_free(struct gpu *gpu);
/* A new one of the queue's, on the GPU; the caller sets its timer. */
struct cohort *cohort_new(struct gpu *gpu, struct queue *queue, uint64_t packet);
/* Sets it: it is the queue's `fresh`, with all its parts. */
void cohort_begin(struct gpu *gpu, struct cohort *cohort);
/* While room is handed out: may it end so early? */
bool cohort_may_end(const struct cohort *cohort, uint64_t early);
/* One more part of it, which has its room already. */
void cohort_extend(struct gpu *gpu, struct cohort *cohort, const struct part *part);
/* True: *event is filled (a traced cohort). */
bool cohort_ended(struct gpu *gpu, struct cohort *cohort, uint64_t early, struct gpu_event *event);
/* The next part of the cohorts that ended and are not yet told in full. */
void cohort_tell(struct gpu *gpu, struct gpu_event *event);
/* Takes the queue's cohorts off the GPU, each with what is left of it. False: none. */
bool queue_save(struct gpu *gpu, struct queue *queue);
/* A queue that goes on: its saved state waits for room, before all that is new.
 * `exact`, at the end of a bounce: what the bounce itself took off the GPU has its
 * units again at once. */
void queue_restore(struct gpu *gpu, struct queue *queue, bool exact);
/* As much of a saved part as fits goes on. True: all of it did, and it is gone. */
bool part_restore(struct gpu *gpu, struct queue *queue, struct part *part, struct cus open);
/* Drops all cohorts of a queue that is going. */
void queue_drop_cohorts(struct gpu *gpu, struct queue *queue);

/* ---- dispatch.c: who gets the room ---- */

/* Gives everything that is waiting the room there is. */
void dispatch_hand_out(struct gpu *gpu);
/* The dispatch at the queue's command processor takes effect. */
void dispatch_begin(struct gpu *gpu, struct queue *queue);
/* The queue may have room for its new workgroups, after all of its class that
 * wait already; or no more. */
void dispatch_wait(struct gpu *gpu, struct queue *queue);
void dispatch_unwait(const struct gpu *gpu, struct queue *queue);

/* ---- link.c ---- */

uint64_t link_work(uint64_t bytes); /* for queue.copy_left */
/* The queue's COPY packet begins, or goes on; and stops, with what is left. */
void link_start(struct gpu *gpu, struct queue *queue);
void link_stop(struct gpu *gpu, struct queue *queue);

/* ---- runlist.c: who has a slot ---- */

int client_join(struct gpu *gpu, struct queue *queue, uint64_t id); /* -ENOMEM */
void client_leave(struct gpu *gpu, struct queue *queue);
/* A bounce begins; its changes are in effect, so who has a slot; it is over. */
void runlist_stop(struct gpu *gpu);
void runlist_fill(struct gpu *gpu);
void runlist_start(struct gpu *gpu);
/* While slicing, after gpu.look_at_slots was set. */
void runlist_look(struct gpu *gpu);
bool slice_timer_fired(struct gpu *gpu, struct gpu_event *event);

/* ---- bounce.c ---- */

/* Of so many units of live state. */
uint64_t save_cost(const struct gpu *gpu, uint64_t units);
uint64_t restore_cost(const struct gpu *gpu, uint64_t units);

/* Starts the bounce that waits first, if none is under way. */
void bounce_start(struct gpu *gpu);
void bounce_timer_fired(struct gpu *gpu, struct gpu_event *event);
/* No bounce speaks of this queue any more. */
void bounce_forget(struct gpu *gpu, uint32_t queue);

/* ---- times.c: what the time goes into ---- */

/* Time goes on to `until`. */
void times_pass(struct gpu *gpu, uint64_t until);
/* After any change of a queue's held, working, head, tail or suspended. */
void times_queue(struct gpu *gpu, struct queue *queue);
/* It is going. */
void times_queue_gone(struct gpu *gpu, struct queue *queue);

static inline bool queue_runs(const struct gpu *gpu, const struct queue *queue)
{
	return queue->on && gpu->bounce_phase == BOUNCE_NONE && !gpu->hung;
}

#endif
