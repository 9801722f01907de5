/* SPDX-License-Identifier: MIT */
/*
 * Types and functions inside the GPU model.
 *
 * Time advances only in gpu_step(). At one instant the following happens in this order, until
 * nothing is left: kicked queues (those that cp_kick() has put on gpu.kicked) continue (cp.c; at
 * most one event is returned to the caller at a time), due timers fire in the order in which they
 * were set, and free wave slots are given to workgroups (dispatch.c). One such distribution is
 * called a hand-out. Because it comes last, all workgroups that end at an instant have ended before
 * it, which keeps cohorts large. For the same reason, cohorts that would end soon afterwards end
 * together with them (cohort.c).
 *
 * Nothing is allocated while time advances: gpu_submit() and gpu_queue_add() reserve the maximum
 * that their packets and queues can need. So -ENOMEM is only returned by calls of gpu.h, and never
 * occurs inside gpu_step().
 *
 * Threads, ownership and units: see gpu.h.
 */
#ifndef KFDSHIM_SIM_GPU_GPU_PRIV_H
#define KFDSHIM_SIM_GPU_GPU_PRIV_H

#include "sim/gpu/gpu.h"

#define XCCS_MAX 16u
/* xcc.levels has one bit for each number of free wave slots, 0 .. 63 */
#define WAVE_SLOTS_CU_MAX 63u
#define ENGINES_MAX 64u			      /* of each kind */
#define CLASSES 3u			      /* priority classes: low, medium, high */
#define QUEUE_PACKETS_MAX (UINT64_C(1) << 20) /* per queue; -EAGAIN beyond */

/* ---- lists ----
 * Circular and doubly linked. The nodes are members of the linked objects, and the head is a node
 * without an object. A node that is on no list points at itself. */

struct list {
	struct list *next, *prev;
};

#define list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

/* Loops over the items of a list, which the body must not remove. */
#define FOR_LIST(type, item, head, member)                                                         \
	for (type *item = list_entry((head)->next, type, member); &item->member != (head);         \
	     item = list_entry(item->member.next, type, member))

static inline void list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

/* Inserts `node` before `at`; if `at` is the head of the list, at the end of the list. */
static inline void list_insert(struct list *at, struct list *node)
{
	node->prev = at->prev;
	node->next = at;
	at->prev->next = node;
	at->prev = node;
}

/* Removes the node from its list. Does nothing if the node is on no list. */
static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Moves all nodes of `from`, in their order, to the front of `to`. `from` is empty afterwards. */
static inline void list_move_front(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->prev->next = to->next;
	to->next->prev = from->prev;
	to->next = from->next;
	from->next->prev = to;
	list_init(from);
}

/* ---- sets of the CUs of one XCC, as bit sets ---- */

#define CUS_XCC_MAX 128u

struct cus {
	uint64_t w[CUS_XCC_MAX / 64];
};

static inline struct cus cus_and(struct cus a, struct cus b)
{
	return (struct cus){{a.w[0] & b.w[0], a.w[1] & b.w[1]}};
}

/* Returns the CUs of `a` that are not in `b`. */
static inline struct cus cus_without(struct cus a, struct cus b)
{
	return (struct cus){{a.w[0] & ~b.w[0], a.w[1] & ~b.w[1]}};
}

static inline bool cus_equal(struct cus a, struct cus b)
{
	return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

/* ---- step.c: timers ---- */

#define TIMER_IDLE UINT32_MAX

enum timer_kind { TIMER_COHORT, TIMER_CP, TIMER_UPDATE, TIMER_SLICE };

struct gpu_timer {
	enum timer_kind kind;
	uint32_t pos; /* index in the heap; TIMER_IDLE: not set */
};

struct heap_entry {
	uint64_t t, seq;
	struct gpu_timer *timer;
};

struct heap {
	struct heap_entry *entries;
	uint32_t n, capacity;
	uint64_t seq; /* number of the next entry; orders entries with equal times */
};

/* Makes room for `capacity` timers. Returns 0 or -ENOMEM. */
int heap_reserve(struct heap *heap, size_t capacity);
/* Sets the timer, which must not be set, to model time t in ns. The caller has reserved the
 * room. */
void heap_push(struct heap *heap, struct gpu_timer *timer, uint64_t t);
/* Removes the timer from the heap. Does nothing if it is not set. */
void heap_cancel(struct heap *heap, struct gpu_timer *timer);

/* ---- the model ---- */

/* A part of a cohort: workgroups of the cohort on one XCC, `layers` of them on each CU of `cus`. A
 * dispatch's workgroups on one XCC are its rows: row r on XCC x is workgroup r * xccs + x. */
struct part {
	struct list node; /* in cohort.parts, seat.back or gpu.spare_parts */
	/* in seat.back: cohort to which the part belonged when it was saved */
	struct cohort *cohort;
	struct cus cus;
	uint32_t layers;
	uint32_t row, count;
	uint32_t xcc;
};

/* Workgroups of one dispatch that were started, or restarted, at the same time. */
struct cohort {
	struct gpu_timer timer;
	struct list node; /* in queue.running, queue.saved, gpu.resident or gpu.spare_cohorts */
	struct gpu_queue *queue;
	uint64_t packet; /* index of the packet in the queue */
	struct list parts;
	uint32_t count; /* workgroups in `parts` */
	uint32_t back;	/* number of the cohort's parts that wait in a seat.back for wave slots */
	/* ns to run in addition to wg_ns, because earlier workgroups of the queue ended early. */
	uint64_t longer;
	uint64_t remain;   /* ns left to run while the cohort is saved */
	uint64_t saved_by; /* update_count of the runlist update that saved the cohort last */
	/* Parts of a saved cohort that one hand-out of wave slots restarts form a new cohort.
	 * `twin` is the latest one, twin_round the number of its hand-out (gpu.round). */
	struct cohort *twin;
	uint64_t twin_round;
};

struct packet_run {
	struct gpu_packet p; /* as submitted */
	uint64_t start;
	uint32_t ended; /* workgroups that have ended */
	bool complete;	/* the packet retires when all earlier ones have retired */
};

/* State of the command processor at its current packet. An SDMA queue needs its engine from FETCH
 * on, except in WAIT. */
enum cp_phase {
	CP_IDLE,   /* not started: there is no packet, or its barrier is not satisfied */
	CP_FETCH,  /* waiting for packet_ns */
	CP_EFFECT, /* packet_ns has passed */
	CP_LAUNCH, /* DISPATCH: workgroups wait for wave slots */
	CP_WORK,   /* WORK, COPY: waiting for busy_ns */
	CP_COPY,   /* COPY: transferring bytes over a link */
	CP_WAIT,   /* WAIT: blocked until gpu_release() */
};

/* Waiting and saved workgroups of one queue on one XCC. */
struct seat {
	/* In xcc.waiting while the queue has a slot and (in CP_LAUNCH) workgroups to start here. */
	struct list waiting;
	/* in xcc.restoring while the queue has a slot and `back` is not empty */
	struct list restoring;
	struct list back; /* saved parts that need new wave slots */
	struct gpu_queue *queue;
	struct cus open; /* CU mask of the queue on this XCC */
	/* The current dispatch's workgroups on this XCC (rows, see struct part): `row` is the next
	 * one to start, `rows` their number. */
	uint32_t row, rows;
	/* Number (gpu.round) of the last hand-out of wave slots in which no further workgroup of
	 * the queue fitted. */
	uint64_t blocked;
};

struct gpu_queue {
	uint32_t id;
	enum gpu_queue_kind kind;
	struct gpu_client *client;
	struct list of_client;
	bool mapped;	    /* as set by the last runlist update */
	bool on;	    /* mapped, with a slot */
	bool chosen;	    /* selected for a slot: see runlist_update.c */
	bool suspended;	    /* not mapped, by a gpu_change with `suspend` set */
	bool suspended_yet; /* a runlist update has suspended the queue at least once */
	/* Priority class; wanted_class takes effect with the next runlist update. */
	uint32_t class, wanted_class;
	/* CU mask of each XCC that takes effect with the next runlist update; NULL: unchanged. */
	struct cus *wanted_open;
	/* the CU mask has changed, so saved state must be restored on other CUs */
	bool moved;
	struct engine *engine; /* SDMA, XGMI; otherwise NULL */
	struct list on_engine;
	struct list on_link; /* in link.copies during a copy */

	struct packet_run *ring; /* packet i is ring[i & (ring_size - 1)] */
	uint64_t ring_size;
	uint64_t head; /* oldest packet that has not retired */
	uint64_t cp;   /* packet at the command processor */
	uint64_t tail;
	uint64_t lost; /* packets before index `lost` have to be reported as lost */

	enum cp_phase phase;
	uint64_t remain;	   /* FETCH, WORK: ns left while the timer is not set */
	struct gpu_timer cp_timer; /* set while the command processor (or engine) works */
	uint64_t copy_left;	   /* COPY: thousandths of a byte left at copy_since; see cp.c */
	uint64_t copy_since, copy_speed;
	bool announced; /* WAIT: the WAITING event was reported */
	bool released;	/* WAIT: gpu_release() was called */

	/* in gpu.kicked if cp_advance() has to be called for the queue */
	struct list kicked;
	struct list running; /* cohorts (struct cohort) on the GPU, in launch order */
	struct list saved;   /* cohorts off the GPU, with the CUs they were on */
	/* wave slots that saved workgroups need: cohorts in `saved`, parts in seats[].back */
	uint64_t saved_wave_slots;
	/* number of XCCs on which the current dispatch has workgroups left to start */
	uint32_t launching;
	/* cohort of the workgroups that the hand-out number fresh_round (a distribution of wave
	 * slots) has started for this queue */
	struct cohort *fresh;
	uint64_t fresh_round;
	struct list begins; /* in gpu.begins while the timer of `fresh` is not set */
	/* sum of packet_need() (most cohorts that a packet can need) over the packets */
	uint64_t reserve_sum;
	/* Upper limit of the cohorts that all packets together need: the number of the queue's
	 * smallest workgroups that fit on the GPU. */
	uint64_t reserve_cap;

	uint64_t held;	   /* wave slots that the queue's workgroups hold */
	int64_t shortfall; /* run time (wave slots x ns) lost because workgroups ended early */
	bool working;	   /* a WORK or COPY packet is running */
	uint64_t accounted_at;
	bool expected; /* set by gpu_queue_expect() */
	bool busy;     /* the queue is counted in gpu.queues_busy (step.c) */
	/* step.c: the queue has work. ready: it is not suspended; held_back: it is suspended. */
	bool ready, held_back;
	struct gpu_queue_stats stats;
	struct seat seats[]; /* one per XCC */
};

struct xcc {
	struct cus all;
	struct cus level[WAVE_SLOTS_CU_MAX + 1]; /* CUs by number of free wave slots */
	uint64_t levels;			 /* bit i: level[i] is not empty */
	uint32_t free;				 /* free wave slots */
	/* seats (struct seat) that wait, by priority class; the next to be served is first */
	struct list waiting[CLASSES];
	struct list restoring; /* seats with saved workgroups; served before all in `waiting` */
	/* a hand-out is needed: wave slots became free, or a queue began to wait for them */
	bool hand_out;
};

struct engine {
	struct gpu_queue *current; /* queue whose packet the engine executes */
	struct list queues;	   /* the next in turn is first */
	uint32_t n;
};

struct gpu_client {
	struct list node;   /* in gpu.clients, in the order in which the clients get time slices */
	struct list queues; /* in the order in which the queues get time slices */
	uint64_t id;
	bool chosen;
	uint32_t busy, ready, held; /* numbers of queues with busy, ready or held_back set */
	uint64_t run_ns, busy_since;
	uint64_t share_ns; /* share of GPU_TIME_RUN, without the part in gpu.unshared_ns */
};

struct gpu_link {
	uint64_t bytes_us;
	struct list copies; /* queues */
	uint32_t n;
};

struct gpu_update {
	struct gpu_update *next;
	uint64_t tag, unmap_ns, map_ns;
	size_t n;
	struct gpu_change changes[];
};

enum update_phase { UPDATE_NONE, UPDATE_UNMAP, UPDATE_MAP };

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

	struct gpu_queue **queues; /* by id; NULL: free id */
	uint32_t n_ids;		   /* length of `queues` */
	uint32_t n_queues;
	struct engine *engines;
	uint32_t n_engines;
	struct gpu_link links[GPU_LINKS_MAX];
	struct list kicked;
	struct list begins; /* queues whose `fresh` cohort starts in the current hand-out */

	uint32_t wave_slots; /* wave slots of the GPU */
	uint32_t free;	     /* free wave slots */
	struct xcc xccs[XCCS_MAX];
	bool hand_out;	/* set if any xcc.hand_out is */
	uint64_t round; /* number of hand-outs so far */
	struct chunk *chunks;
	uint64_t fresh_pairs; /* unused pairs of the first chunk */
	struct list spare_cohorts, spare_parts;
	/* Cohorts of traced dispatches that have ended and have parts that are not reported yet. */
	struct list resident;
	uint64_t cohorts;  /* in all chunks */
	uint64_t reserved; /* cohorts that are reserved for packets */

	struct gpu_update *updates; /* the current runlist update first, then the pending ones */
	enum update_phase update_phase;
	struct gpu_timer update_timer;
	uint64_t update_count;
	uint64_t save_ns, restore_ns; /* ns, of the current runlist update */
	/* Model time at which the current phase of the runlist update begins to save or restore. */
	uint64_t copy_from;
	bool losing; /* queues have packets to report as lost */

	struct list clients; /* the runlist */
	uint32_t n_clients;
	bool slicing;	/* oversubscribed */
	bool switching; /* a slice change is in progress */
	/* the time slice is over, but no queue waited for a slot, so no slot has changed */
	bool slice_over;
	bool fill_slots; /* a queue may need a slot, or may be able to give up its slot */
	struct gpu_timer slice_timer; /* end of the time slice, or of a change of slices */
	uint64_t slice_end, slice_left;
	uint64_t switch_save_ns, switch_restore_ns;

	struct gpu_times times;
	uint64_t unshared_ns; /* GPU_TIME_RUN that is not yet in any client's share_ns */
	uint32_t queues_busy;
	uint32_t clients_busy;	/* clients with running work */
	uint32_t clients_held;	/* clients with work in suspended queues */
	uint32_t clients_ready; /* clients with work, none of it in suspended queues */
};

/* Adds with saturation at UINT64_MAX. */
static inline uint64_t time_add(uint64_t t, uint64_t span)
{
	return span > UINT64_MAX - t ? UINT64_MAX : t + span;
}

static inline struct packet_run *queue_packet(const struct gpu_queue *queue, uint64_t i)
{
	return &queue->ring[i & (queue->ring_size - 1)];
}

/* ---- queue.c ---- */

/* Loops over all queues. The body may end with `continue`, not with `break`. */
#define FOR_QUEUES(gpu, queue)                                                                     \
	for (uint32_t id_ = 0; id_ < (gpu)->n_ids; id_++)                                          \
		for (struct gpu_queue *queue = (gpu)->queues[id_]; queue; queue = NULL)

/* Returns the queue with this id, or NULL. */
struct gpu_queue *queue_find(const struct gpu *gpu, uint32_t id);
/* Updates the queue's counters (stats) up to the present model time. Must be called before every
 * change of queue->held or queue->working. */
void queue_account(struct gpu *gpu, struct gpu_queue *queue);
/* Frees the memory of the queue and removes it from its client. The caller has removed it from all
 * other lists. */
void queue_free(struct gpu *gpu, struct gpu_queue *queue);
/* Stops the command processor of the queue and saves its live state. */
void queue_stop(struct gpu *gpu, struct gpu_queue *queue);
/* Records that the queue has a slot (on) or has none. Does not start or stop it: a queue that gets
 * a slot has not started yet, and a queue that loses its slot has already stopped. */
void queue_set_on(struct gpu *gpu, struct gpu_queue *queue, bool on);
/* Reserves timers for the present number of queues. Returns 0 or -ENOMEM. */
int queue_reserve_timers(struct gpu *gpu);
/* Releases the reservation for the cohorts of the packet, because the packet retires. */
void queue_unreserve(struct gpu *gpu, struct gpu_queue *queue, const struct gpu_packet *packet);

/* ---- cp.c: command processors and SDMA engines ---- */

/* Puts the queue on gpu.kicked: gpu_step() calls cp_advance() for it before time advances. */
void cp_kick(struct gpu *gpu, struct gpu_queue *queue);
/* Executes one step of a queue on gpu.kicked at this instant. Returns true if *event was filled;
 * the queue then stays on gpu.kicked. Returns false if there is nothing more to do now. */
bool cp_advance(struct gpu *gpu, struct gpu_queue *queue, struct gpu_event *event);
/* Handles the end of the current phase (packet_ns, busy_ns or copy). */
void cp_timer_fired(struct gpu *gpu, struct gpu_queue *queue);
/* Advances the command processor to the next packet, when its current packet is complete or has
 * launched its last workgroup. */
void cp_step_over(struct gpu *gpu, struct gpu_queue *queue);
/* Stops the command processor or engine at the current packet and keeps its remaining work. */
void cp_stop(struct gpu *gpu, struct gpu_queue *queue);
/* Continues the command processor or engine of a queue that has got a hardware slot. */
void cp_start(struct gpu *gpu, struct gpu_queue *queue);
/* Assigns every free engine to a queue that needs it. */
void cp_pick_all(struct gpu *gpu);
/* Marks all packets of the queue that have begun as lost, so that cp_emit_lost() reports them. */
void cp_lose(struct gpu *gpu, struct gpu_queue *queue);
/* Reports the next lost packet of any queue. Returns false if there is none. */
bool cp_emit_lost(struct gpu *gpu, struct gpu_event *event);
/* Frees the engine of a queue that is being removed. */
void cp_forget(struct gpu *gpu, struct gpu_queue *queue);

/* ---- dispatch.c: free wave slots of one XCC ---- */

/* Initializes an XCC with `cus` CUs that have `wave_slots` free slots each. */
void xcc_init(struct xcc *xcc, uint32_t cus, uint32_t wave_slots);
/* Takes wave slots for up to `want` workgroups that need `wave_slots` slots each, on CUs of `open`.
 * Sets *cus to the CUs, and *layers to the number of workgroups on each. Returns the number of
 * workgroups; 0 if none fits. CUs outside *cus may have room for more, so the caller calls again
 * until it has enough or the result is 0. */
uint32_t xcc_take(struct xcc *xcc, struct cus open, uint32_t wave_slots, uint32_t want,
		  struct cus *cus, uint32_t *layers);
/* Takes `wave_slots` slots on each of the CUs (xcc_hold) or gives them back (xcc_give). */
void xcc_hold(struct xcc *xcc, struct cus cus, uint32_t wave_slots);
void xcc_give(struct xcc *xcc, struct cus cus, uint32_t wave_slots);

/* ---- cohort.c: cohorts (workgroups that run together), their save and restore ---- */

/* Reserves memory for `more` cohorts in addition to the reserved ones. Returns 0 or -ENOMEM. */
int cohorts_reserve(struct gpu *gpu, uint64_t more);
/* Frees the memory of all cohorts and parts. */
void cohorts_free(struct gpu *gpu);
/* Creates a cohort without workgroups and adds it to queue.running. The caller sets its timer. Uses
 * reserved memory, so it cannot fail. */
struct cohort *cohort_new(struct gpu *gpu, struct gpu_queue *queue, uint64_t packet);
/* Sets the timer that ends `cohort`, the queue's `fresh` one, which has got all its parts. */
void cohort_begin(struct gpu *gpu, struct cohort *cohort);
/* Returns true if the cohort's workgroups are allowed to end `early` ns before their time, as gpu.h
 * describes. Only called while free wave slots have to be assigned. */
bool cohort_may_end(const struct cohort *cohort, uint64_t early);
/* Adds a part (workgroups on one XCC) to the cohort. The XCC has already counted its wave slots. */
void cohort_extend(struct gpu *gpu, struct cohort *cohort, const struct part *part);
/* Ends the cohort's workgroups, `early` ns before their time, and frees their wave slots. Returns
 * true if *event was filled (only for traced dispatches). */
bool cohort_ended(struct gpu *gpu, struct cohort *cohort, uint64_t early, struct gpu_event *event);
/* Reports the next part of a cohort in gpu.resident, and frees the cohort after its last part. */
void cohort_emit(struct gpu *gpu, struct gpu_event *event);
/* Takes the queue's running workgroups off the GPU and keeps the remaining time of each cohort.
 * Returns false if none was running. */
bool queue_save(struct gpu *gpu, struct gpu_queue *queue);
/* Restores the saved workgroups of a queue that continues. If `exact` is set, cohorts that the
 * current runlist update has saved restart at once, on the same CUs. All other cohorts wait for
 * wave slots, which they get before any new workgroup. */
void queue_restore(struct gpu *gpu, struct gpu_queue *queue, bool exact);
/* Restarts as many workgroups of a saved part as fit on the CUs of `open`. Returns true if all run
 * again; the part is then freed. */
bool part_restore(struct gpu *gpu, struct gpu_queue *queue, struct part *part, struct cus open);
/* Drops the running and saved workgroups of a queue that is removed or reset. */
void queue_drop_cohorts(struct gpu *gpu, struct gpu_queue *queue);

/* ---- dispatch.c: distribution of wave slots ---- */

/* Starts waiting workgroups on all XCCs whose hand_out is set, saved ones first, until no further
 * one fits into the free wave slots. Does nothing during a runlist update. */
void dispatch_hand_out(struct gpu *gpu);
/* Lets the workgroups of the dispatch at the queue's command processor wait for wave slots. */
void dispatch_begin(struct gpu *gpu, struct gpu_queue *queue);
/* dispatch_wait() lets the queue wait for wave slots for new workgroups, behind all queues of its
 * class that already wait. dispatch_unwait() ends the wait. */
void dispatch_wait(struct gpu *gpu, struct gpu_queue *queue);
void dispatch_unwait(const struct gpu *gpu, struct gpu_queue *queue);

/* Stops the COPY packet of the queue, if it is on a link, and keeps the remaining work in
 * queue.copy_left. */
void link_stop(struct gpu *gpu, struct gpu_queue *queue);

/* ---- runlist_update.c: runlist updates and the assignment of slots ---- */

/* Adds the queue to the client with this id; creates the client if it has no queue yet.
 * Returns 0 or -ENOMEM. */
int client_join(struct gpu *gpu, struct gpu_queue *queue, uint64_t id);
/* Removes the queue from its client; frees the client after its last queue. */
void client_leave(struct gpu *gpu, struct gpu_queue *queue);
/* Reassigns slots if queues need them. Called while time slicing, after gpu.fill_slots was set. */
void runlist_schedule(struct gpu *gpu);
/* Handles the end of a time slice (a quantum of a client or queue) or of a change of slices.
 * Returns true if *event was filled. */
bool slice_timer_fired(struct gpu *gpu, struct gpu_event *event);
/* Handles the end of a phase of the current runlist update, and fills *event. */
void update_timer_fired(struct gpu *gpu, struct gpu_event *event);
/* Removes the queue from all pending runlist updates, because the queue is being removed. */
void update_forget(struct gpu *gpu, uint32_t queue);

/* ---- step.c: counters of how the time is spent ---- */

/* Updates the counts of busy, ready and held queues and clients. Must be called after every change
 * of a queue's held, working, head, tail, suspended or expected. */
void times_queue(struct gpu *gpu, struct gpu_queue *queue);
/* Removes the queue from the counts, because the queue is being removed. */
void times_queue_gone(struct gpu *gpu, struct gpu_queue *queue);

/* Returns true if the queue has a slot and no runlist update is in progress. */
static inline bool queue_runs(const struct gpu *gpu, const struct gpu_queue *queue)
{
	return queue->on && gpu->update_phase == UPDATE_NONE;
}

#endif
