/* SPDX-License-Identifier: MIT */
/*
 * A model of one GPU node under several queues: pure discrete events in
 * virtual ("model") time. No I/O, no clock, no globals; the same calls give
 * the same events, always.
 *
 * Units: every time is nanoseconds of model time. A GPU has XCCs (accelerator
 * dies), an XCC compute units (CUs), a CU wave slots: "units". A workgroup lies
 * on one CU, and holds max(its waves, its share of the CU's LDS) units of it
 * from start to end.
 *
 * Threads: none; one caller at a time owns a struct gpu.
 * Ownership: struct gpu owns everything in it; arguments are copied.
 * Errors: allocation failure is -ENOMEM, an unknown queue -ENOENT, a queue
 * that is full (2^20 packets) -EAGAIN, a bad argument (a dispatch whose
 * workgroup holds more units than a CU has, too) -EINVAL.
 *
 * How queues share: the command processor of a queue takes packets in order.
 * Workgroup i of a dispatch belongs to XCC i mod xccs (as on MI300: kernels rely
 * on that order), and each XCC works for itself. There, workgroups begin as CUs
 * have room, on the CU with the most free units, the lowest number among equals.
 * Room is given by class of priority (KFD's 0-6 low, 7-10 medium, 11-15 high):
 * a higher class first, within a class workgroup by workgroup in turn. A
 * workgroup that fits nowhere keeps its turn and the CU with the most room that
 * it may use: nobody else is given room there until it fits, so that it is not
 * starved, and nowhere else is anybody held up by it. A CU mask confines a
 * queue's workgroups; one that leaves an XCC no CU lets that XCC's workgroups
 * wait for ever.
 * When room is given, workgroups that would end within 500 ns (a quarter of wg_ns if that
 * is less) end at once, and the next ones of their queue run longer by as much: this makes
 * the model several times faster for queues that are out of step. The last of a dispatch
 * to begin take wg_ns exactly, and the last to end are never early.
 * A packet with the barrier bit starts after everything earlier in its queue has
 * retired; one without it may start once its predecessor has launched its last
 * workgroup.
 * SDMA and XGMI queues are bound to an engine; the queues of an engine take turns
 * packet by packet. A WAIT packet does not hold the engine. The copies on a link
 * share its bandwidth equally, whatever engines they are on. (A link to another
 * GPU is that of the GPU whose engine copies: its peer's own copies go over the
 * peer's own.)
 *
 * A bounce is the driver's unmap and map of all queues of the node
 * (under HWS every queue change does this): all queues stop at its
 * start, live workgroups are saved with what is left of them, the requested
 * changes take effect, and the queues that are then mapped go on where they
 * stopped. Bounces are served one after another. Restored workgroups have
 * their units again before anything new is launched on the CUs they may use;
 * where the saved state of the mapped queues exceeds the GPU, the rest goes first
 * when units become free, and its restoring is not charged. What is restored
 * stays on its XCC, but may come to lie on another CU.
 *
 * Mapped queues run side by side. Only where they are oversubscribed does the
 * firmware slice time: clients (if these are too many) or queues have their slots
 * for a quantum, in turn. A change of slices disturbs only those who lose or get
 * one: these stand still for switch_ns and the save and restore of live state.
 * Idle queues take no quantum from others (assumed: the firmware is not public).
 */
#ifndef KFDSHIM_SIM_GPU_H
#define KFDSHIM_SIM_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu;

/* What copies go over: to and from the host, within the GPU's own memory, to and
 * from the i-th other GPU. */
#define GPU_LINK_HOST 0u
#define GPU_LINK_LOCAL 1u
#define GPU_LINK_PEER(i) (2u + (i))
#define GPU_LINKS_MAX 16u

struct gpu_config {
	uint32_t xccs;		   /* 1 .. 16 */
	uint32_t cus;		   /* of all XCCs, as many in each; at most 128 in one */
	uint32_t units_per_cu;	   /* wave slots of a CU; at most 63 */
	uint64_t packet_ns;	   /* CP time before a packet takes effect */
	uint64_t unmap_ns;	   /* bounce, first half: preempt all queues, no live state */
	uint64_t map_ns;	   /* bounce, second half: map the runlist, no live state */
	uint64_t save_bytes_unit;  /* saved bytes for each live unit */
	uint64_t save_bytes_us;	   /* save bandwidth, bytes per microsecond, > 0 */
	uint64_t restore_bytes_us; /* > 0 */
	uint32_t sdma_engines;	   /* > 0; engines 0, 1, ... */
	uint32_t xgmi_engines;	   /* those after them */
	uint64_t engine_bytes_us;  /* the most one engine copies; 0: as much as its link */
	uint64_t link_bytes_us[GPU_LINKS_MAX]; /* 0: there is no such link */

	/* Oversubscription: more clients than VMIDs, or more compute queues mapped
	 * than slots for them. */
	uint32_t vmids;		     /* 0: no limit; the driver's min(VMIDs, hws_max_conc_proc) */
	uint32_t cp_queues;	     /* 0: no limit */
	uint64_t process_quantum_ns; /* > 0 with vmids */
	uint64_t queue_quantum_ns;   /* > 0 with cp_queues */
	uint64_t switch_ns;	     /* the firmware's change of slices, without live state */

	/* What parts differ in or nobody knows, and what can be provoked; all 0: off. */
	uint64_t first_suspend_ns;   /* a bounce that suspends a queue for the first time */
	uint32_t preempt_slow_nth;   /* every n-th bounce that finds live state takes ... */
	uint64_t preempt_slow_ns;    /* ... so much longer */
	uint32_t preempt_fail_nth;   /* every n-th bounce that finds live state fails ... */
	uint64_t preempt_timeout_ns; /* ... and says so after this time */
};

enum gpu_queue_kind { GPU_QUEUE_COMPUTE, GPU_QUEUE_SDMA, GPU_QUEUE_XGMI };

#define GPU_ENGINE_ANY UINT32_MAX

#define GPU_PRIORITY_NORMAL 7u
#define GPU_PRIORITY_MAX 15u

struct gpu_queue_config {
	enum gpu_queue_kind kind;
	uint64_t client; /* whose it is: the process */
	/* SDMA, XGMI: this engine, whatever the kind (-EINVAL: there is none), or
	 * GPU_ENGINE_ANY: the one of its kind with the fewest queues. */
	uint32_t engine;
};

enum gpu_packet_kind {
	GPU_PACKET_DISPATCH, /* workgroups on compute units; compute queues only */
	GPU_PACKET_WORK,     /* busy_ns on the queue's engine, or, on a compute queue,
	                        on its CP without using any unit */
	GPU_PACKET_COPY,     /* busy_ns, then `bytes` over `link`; not on compute queues */
	GPU_PACKET_WAIT,     /* holds the queue until gpu_release() */
};

struct gpu_packet {
	enum gpu_packet_kind kind;
	bool barrier;	  /* wait for everything earlier in this queue */
	bool trace;	  /* DISPATCH: report workgroups as they end */
	uint32_t wgs;	  /* DISPATCH: workgroups, > 0 */
	uint32_t units;	  /* DISPATCH: units of a CU one workgroup holds, > 0 */
	uint64_t wg_ns;	  /* DISPATCH: time one workgroup runs */
	uint64_t busy_ns; /* WORK, COPY */
	uint64_t bytes;	  /* COPY: what crosses the link */
	uint32_t link;	  /* COPY: GPU_LINK_...; one that there is */
	uint64_t tag;	  /* the caller's; comes back in events */
};

enum gpu_event_type {
	GPU_EVENT_STARTED, /* the packet, of any kind, takes effect; a dispatch may still wait for units */
	GPU_EVENT_WAITING, /* a WAIT packet reached the head: the queue stands until gpu_release() */
	GPU_EVENT_WORKGROUPS, /* `count` traced workgroups ended: first, first + stride, ... */
	GPU_EVENT_RETIRED,    /* the packet is complete; in packet order within a queue */
	GPU_EVENT_UNMAPPED,   /* bounce: all queues are off, state saved, changes in effect */
	GPU_EVENT_MAPPED,     /* bounce: over, the mapped queues run again */
	GPU_EVENT_FAILED,     /* bounce: over without UNMAPPED or MAPPED, and everything is off */
	GPU_EVENT_LOST,	      /* the packet had begun, and gpu_reset() dropped it */
	GPU_EVENT_SLICED,     /* oversubscribed: the firmware has changed slices */
};

struct gpu_event {
	enum gpu_event_type type;
	uint64_t t;	       /* when it happened */
	uint32_t queue;	       /* packet events */
	uint64_t tag;	       /* of the packet, or of the bounce */
	uint32_t first, count; /* WORKGROUPS */
	uint32_t stride;       /* WORKGROUPS: 1, or the XCCs where these are of one XCC only */
	uint64_t start_ns;     /* RETIRED, LOST: when it began to take effect */
	uint64_t unmap_ns;     /* UNMAPPED: what this took without saving */
	uint64_t map_ns;       /* UNMAPPED: what the other half takes without restoring */
	uint64_t save_ns;      /* UNMAPPED, SLICED: charged for saving live state */
	uint64_t restore_ns;   /* MAPPED, SLICED: charged for restoring it */
};

/* What one bounce changes. */
struct gpu_change {
	uint32_t queue;
	bool map;     /* false: the queue stays off until a later change maps it */
	bool suspend; /* with map false: a suspend, of which the first may cost more */
};

struct gpu_queue_stats {
	/* Units held x time; an SDMA copy counts as one unit. A workgroup that has ended
	 * counts what its dispatch says, also if it ended early. */
	uint64_t unit_ns;
	uint64_t busy_ns; /* time with at least one workgroup, WORK or COPY packet running */
	uint64_t wgs_done;
	uint64_t packets_retired;
	uint64_t preempted; /* bounces, and ends of a slice, that found live state in it */
};

/*
 * What the GPU's time since its making went into, each nanosecond into one: their sum is gpu_now().
 * A copy of an SDMA engine counts as work, as a wave does.
 */
enum gpu_time {
	GPU_TIME_RUN,	     /* work of some queue runs */
	GPU_TIME_BOUNCE,     /* a bounce, or a change of slices beside which nothing runs */
	GPU_TIME_SAVE,	     /* of a bounce: for live state */
	GPU_TIME_RESTORE,    /* likewise */
	GPU_TIME_HELD_READY, /* idle; a client has work in suspended queues, and another one has
	                        packets that do not run yet */
	GPU_TIME_HELD,	     /* the same, and no other client has any */
	GPU_TIME_IDLE,	     /* idle, and no suspended queue has work */
	GPU_TIMES
};

struct gpu_times {
	uint64_t ns[GPU_TIMES];
};

struct gpu *gpu_new(const struct gpu_config *config); /* NULL: bad config or no memory */
void gpu_free(struct gpu *gpu);

uint64_t gpu_now(const struct gpu *gpu);

/* A new queue is not mapped; a bounce maps it. It has normal priority and all
 * CUs. Returns its id (>= 0; ids of removed queues are used again) or a negative
 * errno. */
int gpu_queue_add(struct gpu *gpu, const struct gpu_queue_config *config);
/* As KFD has it, 0 .. 15. Takes effect, as a mask does, at the next bounce (at
 * its UNMAPPED), as what the driver writes into a queue's MQD. No effect on SDMA. */
int gpu_queue_set_priority(struct gpu *gpu, uint32_t queue, uint32_t priority);
/* The bits as in SET_CU_MASK: bit i is CU i / xccs of XCC i mod xccs. That is how
 * the driver spreads them over XCCs (from Linux 6.5 on); it then goes on over
 * shader engines in turn, and so does our numbering of an XCC's CUs. CUs beyond
 * n_bits are off. n_bits 0: all CUs. */
int gpu_queue_set_cu_mask(struct gpu *gpu, uint32_t queue, const uint32_t *bits, uint32_t n_bits);
/* Drops the queue with all it holds, without a bounce and without events. */
int gpu_queue_remove(struct gpu *gpu, uint32_t queue);
int gpu_queue_stats(const struct gpu *gpu, uint32_t queue, struct gpu_queue_stats *out);
bool gpu_queue_mapped(const struct gpu *gpu, uint32_t queue);
/* Packets submitted and not yet retired. */
size_t gpu_queue_depth(const struct gpu *gpu, uint32_t queue);

/* The queue is off, and there is more for it than was submitted, or not any more: that
 * is work, too, for gpu_times(). */
int gpu_queue_expect(struct gpu *gpu, uint32_t queue, bool more);

/* Appends a packet at the present time (gpu_now). */
int gpu_submit(struct gpu *gpu, uint32_t queue, const struct gpu_packet *packet);
/* Lets the WAIT packet at the head of the queue retire now. -EINVAL: none there.
 * The request stands if the queue is unmapped meanwhile. */
int gpu_release(struct gpu *gpu, uint32_t queue);
/* Asks for one bounce with these changes; served after those asked for before.
 * One that fails (the configuration says which) has its changes in effect all the
 * same, as the driver's flags have; nothing runs after it, and every further
 * bounce fails at once, until gpu_reset(). */
int gpu_bounce(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes, size_t n);
/* The same, its halves taking these times instead of the configuration's. */
int gpu_bounce_within(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes, size_t n,
		      uint64_t unmap_ns, uint64_t map_ns);
/* Resets the GPU: every packet that has begun and is not retired is dropped, with
 * its LOST event, and all queues are off until a bounce maps them; what has not
 * begun stays in them. A bounce that was about to fail by itself fails now; those
 * after it are served. */
void gpu_reset(struct gpu *gpu);

/* The same to one queue, while all are off for a bounce (its UNMAPPED was the last event); it stays
 * off until another bounce maps it. -ENOENT; -EBUSY: the queues are not off. */
int gpu_queue_reset(struct gpu *gpu, uint32_t queue);

/* Goes on to the next event at or before `until`. True: *event is filled and
 * gpu_now() is its time, and calls made now happen then. False: nothing more
 * up to `until`, and gpu_now() == until (never backwards). */
bool gpu_step(struct gpu *gpu, uint64_t until, struct gpu_event *event);
/* The earliest time at which gpu_step can have something to report (it may turn
 * out to have nothing then); UINT64_MAX: only new calls can. Later than gpu_now()
 * once gpu_step(gpu, gpu_now(gpu), ...) was false. */
uint64_t gpu_next(const struct gpu *gpu);

void gpu_times(const struct gpu *gpu, struct gpu_times *out);
/* For how long work of this client ran, beside others' or not; 0 once it has no queue here. */
uint64_t gpu_client_run_ns(const struct gpu *gpu, uint64_t client);

/* Units held now, by all queues; what a bounce would have to save. */
uint64_t gpu_live_units(const struct gpu *gpu);
uint64_t gpu_queue_units(const struct gpu *gpu, uint32_t queue); /* of them, by one queue */
/* Units of a queue's work that is off the GPU and not ended. */
uint64_t gpu_queue_saved_units(const struct gpu *gpu, uint32_t queue);

#endif
