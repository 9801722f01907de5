/* SPDX-License-Identifier: MIT */
/*
 * Interface of the model of one GPU node with several queues. It is a pure discrete event
 * simulation in virtual ("model") time. The model does no I/O, reads no clock and has no globals;
 * the same calls always give the same events.
 *
 * Units: every time is in nanoseconds of model time. A GPU has XCCs (accelerator dies), an XCC has
 * compute units (CUs), and a CU has wave slots. A workgroup runs on one CU; from its start to its
 * end it holds max(its waves, its share of the CU's LDS) wave slots of that CU. Live state is that
 * of the workgroups that hold wave slots.
 *
 * Threads: none. At any time only one caller uses a struct gpu.
 * Ownership: struct gpu owns everything in it; arguments are copied.
 * Errors of the functions below, unless noted otherwise:
 * -ENOMEM: an allocation failed
 * -ENOENT: there is no such queue
 * -EAGAIN: the queue is full (2^20 packets)
 * -EINVAL: bad argument; also a dispatch whose workgroup needs more wave slots than a CU has
 *
 * How queues share the GPU. The command processor (CP) of a queue takes packets in order. Workgroup
 * i of a dispatch belongs to XCC i mod xccs (as on MI300; kernels rely on that order), and every
 * XCC schedules independently of the others. On an XCC, a workgroup starts as soon as a CU has
 * enough free wave slots. The CU with the most free wave slots is chosen, and the lowest number
 * among equals. Free wave slots are handed out by priority class (KFD's 0-6 low, 7-10 medium, 11-15
 * high): a higher class first, and within a class one workgroup at a time in round-robin order. A
 * workgroup that fits on no CU keeps its turn, and reserves the CU with the most free wave slots
 * that its queue may use: no other queue behind it gets wave slots there until the workgroup fits,
 * so that it cannot starve. All other CUs stay available to other queues. A CU mask confines the
 * workgroups of a queue. If the mask leaves an XCC without a CU, the workgroups of that XCC wait
 * forever.
 *
 * When wave slots are handed out, workgroups that would end within 500 ns (or a quarter of wg_ns if
 * that is less) end at once, and the next workgroups of their queue run longer by the same amount.
 * This makes the model several times faster when queues are out of step. The workgroups of a
 * dispatch that begin last take exactly wg_ns, and those that end last never end early.
 *
 * A packet with the barrier bit starts after all earlier packets of its queue have retired. A
 * packet without the bit may start once its predecessor has launched its last workgroup.
 *
 * An SDMA or XGMI queue is bound to an engine; the queues of an engine take turns packet by packet.
 * A WAIT packet does not occupy the engine. The copies on a link share its bandwidth equally, on
 * whatever engines they run. (A link to another GPU belongs to the GPU whose engine copies: copies
 * that the peer's engines make use the peer's own link.)
 *
 * A runlist update is the driver's unmap and map of all queues of the node; under HWS every queue
 * change causes one. All queues stop when it begins, the remaining work of live workgroups is
 * saved, the requested changes take effect, and then the mapped queues continue where they stopped.
 * Runlist updates are served one after another. Restored workgroups get their wave slots back
 * before anything new is launched on the CUs that their queue may use. If the saved state of the
 * mapped queues exceeds the GPU, the excess is restored later, as wave slots become free, and then
 * costs no restore time. A restored workgroup stays on its XCC, but may be placed on another
 * CU.
 *
 * Mapped queues run side by side. Only if there are too many of them does the firmware time-slice:
 * clients (if there are too many clients) or queues get their slots for a quantum, in turn. A
 * change of slices only affects the queues that lose or get a slot: these stop for switch_ns plus
 * the save and restore time of live state. Idle queues take no quantum from others (assumed: the
 * firmware is not public).
 */
#ifndef KFDSHIM_SIM_GPU_H
#define KFDSHIM_SIM_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu;

/* The paths of copies: to and from the host, within the GPU's own memory, and to and from the
 * i-th other GPU. */
#define GPU_LINK_HOST 0u
#define GPU_LINK_LOCAL 1u
#define GPU_LINK_PEER(i) (2u + (i))
#define GPU_LINKS_MAX 16u

struct gpu_config {
	uint32_t xccs;		    /* 1 .. 16 */
	uint32_t cus;		    /* total of all XCCs, a multiple of xccs; at most 128 per XCC */
	uint32_t wave_slots_per_cu; /* wave slots of a CU; 1 .. 63 */
	uint64_t packet_ns;	    /* CP time in ns before a packet takes effect */
	/* duration in ns of a runlist update's first half, which preempts all queues; the save of
	 * live state is not included */
	uint64_t unmap_ns;
	/* ns of the second half, which maps the runlist; the restore is not included */
	uint64_t map_ns;
	uint64_t save_bytes_unit;  /* saved bytes per live wave slot */
	uint64_t save_bytes_us;	   /* save bandwidth, bytes per microsecond; > 0 */
	uint64_t restore_bytes_us; /* restore bandwidth, bytes per microsecond; > 0 */
	uint32_t sdma_engines;	   /* number of SDMA engines, > 0; engines 0, 1, ... */
	uint32_t xgmi_engines;	   /* number of XGMI engines; numbered after the SDMA engines */
	/* Upper limit of one engine, bytes per us; 0: only the link limits the engine. */
	uint64_t engine_bytes_us;
	uint64_t link_bytes_us[GPU_LINKS_MAX]; /* bandwidth, bytes per us; 0: no such link */

	/* Oversubscription: more clients than VMIDs, or more mapped compute queues than slots. */
	/* maximum number of clients that run at once; the driver's min(VMIDs, hws_max_conc_proc);
	 * 0: no limit */
	uint32_t vmids;
	uint32_t cp_queues;	     /* slots for compute queues; 0: no limit */
	uint64_t process_quantum_ns; /* ns; > 0 if vmids is set */
	uint64_t queue_quantum_ns;   /* ns; > 0 if cp_queues is set */
	/* ns of a change of time slices by the firmware; save and restore are not included */
	uint64_t switch_ns;

	/* Extra duration in ns of a runlist update that suspends a queue for the first time. */
	uint64_t first_suspend_ns;
};

enum gpu_queue_kind { GPU_QUEUE_COMPUTE, GPU_QUEUE_SDMA, GPU_QUEUE_XGMI };

#define GPU_ENGINE_ANY UINT32_MAX

#define GPU_PRIORITY_NORMAL 7u
#define GPU_PRIORITY_MAX 15u

struct gpu_queue_config {
	enum gpu_queue_kind kind;
	uint64_t client; /* id of the owner (the process) */
	/* Not for compute queues. GPU_ENGINE_ANY: the engine of the queue's kind that has the fewest
	 * queues. Otherwise the number of an engine, SDMA engines first, then XGMI engines; it need
	 * not be of the queue's kind. -EINVAL: there is no such engine. */
	uint32_t engine;
};

enum gpu_packet_kind {
	GPU_PACKET_DISPATCH, /* workgroups on compute units; only on compute queues */
	/* Occupies for busy_ns the CP (compute queue) or the queue's engine. Takes no wave slot. */
	GPU_PACKET_WORK,
	GPU_PACKET_COPY, /* takes busy_ns, then copies `bytes` over `link`; not on compute queues */
	GPU_PACKET_WAIT, /* blocks the queue until gpu_release() */
};

struct gpu_packet {
	enum gpu_packet_kind kind;
	bool barrier;	     /* wait until all earlier packets of the queue have retired */
	bool trace;	     /* DISPATCH: report workgroups as they end */
	uint32_t wgs;	     /* DISPATCH: number of workgroups, > 0 */
	uint32_t wave_slots; /* DISPATCH: wave slots of a CU that one workgroup holds, > 0 */
	uint64_t wg_ns;	     /* DISPATCH: run time of one workgroup */
	uint64_t busy_ns;    /* WORK, COPY: time on the engine or CP */
	uint64_t bytes;	     /* COPY: bytes over the link */
	uint32_t link;	     /* COPY: GPU_LINK_...; must exist */
	uint64_t tag;	     /* caller's value; returned in events */
};

enum gpu_event_type {
	/* A packet of any kind takes effect. A dispatch may still have to wait for wave slots. */
	GPU_EVENT_STARTED,
	/* A WAIT packet reached the head: the queue blocks until gpu_release(). */
	GPU_EVENT_WAITING,
	GPU_EVENT_WORKGROUPS, /* `count` traced workgroups ended: first, first + stride, ... */
	GPU_EVENT_RETIRED,    /* the packet is complete; reported in packet order within a queue */
	/* Runlist update: all queues are stopped, live state is saved, and the changes are in
	 * effect. */
	GPU_EVENT_UNMAPPED,
	GPU_EVENT_MAPPED, /* runlist update complete; the mapped queues run again */
	GPU_EVENT_LOST,	  /* the packet had begun and was dropped by gpu_queue_reset() */
	GPU_EVENT_SLICED, /* oversubscribed: the firmware has given slots to other queues */
};

struct gpu_event {
	enum gpu_event_type type;
	uint64_t t;	       /* time of the event */
	uint32_t queue;	       /* packet events: id of the queue */
	uint64_t tag;	       /* tag of the packet or of the runlist update */
	uint32_t first, count; /* WORKGROUPS: first workgroup and number of workgroups */
	/* WORKGROUPS: difference of successive workgroup numbers; 1, or xccs if all workgroups are
	 * on one XCC */
	uint32_t stride;
	uint64_t start_ns;   /* RETIRED, LOST: time at which the packet took effect */
	uint64_t unmap_ns;   /* UNMAPPED: duration of the first half without the save */
	uint64_t map_ns;     /* UNMAPPED: duration of the second half without the restore */
	uint64_t save_ns;    /* UNMAPPED, SLICED: time that saving live state took */
	uint64_t restore_ns; /* MAPPED, SLICED: time that restoring live state took */
};

/* One change of a queue by a runlist update. */
struct gpu_change {
	uint32_t queue;
	bool map; /* false: the queue is not mapped until a later change maps it */
	/* map is false because the queue is suspended; its first suspend may take longer
	 * (first_suspend_ns) */
	bool suspend;
};

struct gpu_queue_stats {
	/* Wave slots held, integrated over time (slots x ns); an SDMA copy counts as one. A
	 * workgroup that has ended counts with the run time of its dispatch (wg_ns), even if it
	 * ended early. */
	uint64_t wave_slot_ns;
	uint64_t busy_ns; /* time with at least one workgroup, WORK or COPY packet running */
	uint64_t wgs_done;
	uint64_t packets_retired;
	/* number of runlist updates and ends of time slices that saved live state of the queue */
	uint64_t preempted;
};

/*
 * How the time of the GPU since gpu_new() was spent. Each nanosecond is counted once, so that the
 * sum of all entries is gpu_now(). A copy of an SDMA engine counts as work, like a wave.
 */
enum gpu_time {
	GPU_TIME_RUN, /* work of at least one queue runs */
	/* a runlist update, or a change of time slices while nothing runs */
	GPU_TIME_RUNLIST_UPDATE,
	GPU_TIME_SAVE,	  /* part of a runlist update: saving live state */
	GPU_TIME_RESTORE, /* part of a runlist update: restoring live state */
	/* Idle. A client has work in suspended queues; another client has packets that do not
	 * run. */
	GPU_TIME_HELD_READY,
	/* Idle. A client has work in suspended queues; no other client has packets. */
	GPU_TIME_HELD,
	GPU_TIME_IDLE, /* idle, and no suspended queue has work */
	GPU_TIMES
};

struct gpu_times {
	uint64_t ns[GPU_TIMES];
};

/* Run time of a client's work. */
struct gpu_client_run {
	uint64_t ns; /* time during which work of this client ran, alone or beside other clients */
	/* Share in GPU_TIME_RUN: while work of k clients runs, each of them gets 1/k of the time.
	 * The sum of all clients' shares differs from GPU_TIME_RUN by less than one ns for each
	 * client. */
	uint64_t share_ns;
};

/* Creates a GPU. The configuration is copied. Returns NULL if the configuration is not valid or
 * memory is short. Release with gpu_free(). */
struct gpu *gpu_new(const struct gpu_config *config);
/* Frees the GPU with its queues and pending runlist updates. NULL is allowed. */
void gpu_free(struct gpu *gpu);

/* Returns the model time, in ns since gpu_new(). */
uint64_t gpu_now(const struct gpu *gpu);

/* Adds a queue with normal priority and all CUs. The queue is not mapped until a runlist update
 * maps it. Returns its id (>= 0; ids of removed queues are reused) or a negative errno. */
int gpu_queue_add(struct gpu *gpu, const struct gpu_queue_config *config);
/* Sets the priority, 0 .. 15 as in KFD. The value takes effect at the UNMAPPED event of the next
 * runlist update, as a CU mask does, because the driver writes both into the queue's MQD. It has no
 * effect on SDMA queues. */
int gpu_queue_set_priority(struct gpu *gpu, uint32_t queue, uint32_t priority);
/* Sets the CU mask. The bits are those of SET_CU_MASK: bit i is CU i / xccs of XCC i mod xccs. The
 * driver spreads them over the XCCs in this way (from Linux 6.5 on); within an XCC it then goes
 * over the shader engines in turn, and so does the CU numbering of this model. CUs beyond n_bits
 * are off. n_bits 0: all CUs. */
int gpu_queue_set_cu_mask(struct gpu *gpu, uint32_t queue, const uint32_t *bits, uint32_t n_bits);
/* Removes the queue with all its packets and workgroups, without a runlist update and
 * without events. */
int gpu_queue_remove(struct gpu *gpu, uint32_t queue);
/* Writes the counters of the queue, up to gpu_now(), to *out. Returns 0 or -ENOENT. */
int gpu_queue_stats(const struct gpu *gpu, uint32_t queue, struct gpu_queue_stats *out);
/* Returns true if the queue is mapped since the last runlist update. With oversubscription a mapped
 * queue may be without a hardware slot. Returns false if there is no such queue. */
bool gpu_queue_mapped(const struct gpu *gpu, uint32_t queue);
/* Returns the number of packets that are submitted and not retired; 0 if there is no such queue. */
size_t gpu_queue_depth(const struct gpu *gpu, uint32_t queue);

/* Sets whether a queue that does not run has more work than was submitted to the model (packets
 * that the driver has not fetched yet). gpu_times() counts this as work of the queue. The next
 * gpu_submit() to the queue clears it. Returns 0 or -ENOENT. */
int gpu_queue_expect(struct gpu *gpu, uint32_t queue, bool more);

/* Appends a packet to the queue at the current time (gpu_now()). Returns 0, -ENOENT, -EAGAIN,
 * -EINVAL or -ENOMEM (see the head of this file). */
int gpu_submit(struct gpu *gpu, uint32_t queue, const struct gpu_packet *packet);
/* Lets the WAIT packet at the head of the queue retire now. If the queue is unmapped before the
 * packet retires, the release stays in effect. Returns 0, -ENOENT, or -EINVAL if the queue's
 * current packet is not a WAIT packet. */
int gpu_release(struct gpu *gpu, uint32_t queue);
/* Requests one runlist update with these changes; it is served after all earlier ones. An UNMAPPED
 * event with this tag reports the end of its first half, a MAPPED event the end of its second half.
 * Returns 0 or a negative errno. */
int gpu_update_runlist(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes, size_t n);
/* Requests a runlist update as gpu_update_runlist() does, but its two halves take unmap_ns and
 * map_ns instead of the configured times. */
int gpu_update_runlist_within(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes,
			      size_t n, uint64_t unmap_ns, uint64_t map_ns);
/* Resets one queue: every packet that has begun and is not retired is dropped with a LOST event;
 * packets that have not begun stay in the queue. Allowed only between UNMAPPED and MAPPED of a
 * runlist update. The queue is not mapped until another runlist update maps it. Returns 0; -ENOENT;
 * -EBUSY outside of a runlist update's second half. */
int gpu_queue_reset(struct gpu *gpu, uint32_t queue);

/* Advances to the next event at or before `until`. Returns true if *event was filled: gpu_now() is
 * then the time of the event, and calls that the caller makes now happen at that time. Returns
 * false if there is no event up to `until`: gpu_now() is then `until` (time never goes
 * backwards). */
bool gpu_step(struct gpu *gpu, uint64_t until, struct gpu_event *event);
/* Returns the earliest time at which gpu_step() can report an event (possibly gpu_step() has
 * nothing to report then), or UINT64_MAX if only new calls can cause events. The result is later
 * than gpu_now() once gpu_step(gpu, gpu_now(gpu), ...) has returned false. */
uint64_t gpu_next(const struct gpu *gpu);

/* Writes to *out how the time up to gpu_now() was spent (enum gpu_time). */
void gpu_times(const struct gpu *gpu, struct gpu_times *out);
/* Returns the run time of the client up to gpu_now(); all 0 once it has no queue on this GPU. */
struct gpu_client_run gpu_client_run(const struct gpu *gpu, uint64_t client);

/* Returns the wave slots that all queues hold now: what a runlist update would have to save. */
uint64_t gpu_live_wave_slots(const struct gpu *gpu);
/* Returns the wave slots that this queue holds now; 0 if there is no such queue. */
uint64_t gpu_queue_wave_slots(const struct gpu *gpu, uint32_t queue);
/* Returns the wave slots of the queue's saved work (off the GPU, not ended); 0: no such queue. */
uint64_t gpu_queue_saved_wave_slots(const struct gpu *gpu, uint32_t queue);

#endif
