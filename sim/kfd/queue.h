/* SPDX-License-Identifier: MIT */
/*
 * A queue, the packets it holds, and the engines that take them: from ring to
 * GPU model, and their effects back into memory.
 * Rules of threads and times: sim/kfd/kfd.h.
 */
#ifndef KFDSHIM_SIM_KFD_QUEUE_H
#define KFDSHIM_SIM_KFD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "abi/kfd_abi.h"
#include "sim/gpu/gpu.h"
#include "sim/kfd/move.h"
#include "sim/kfd/process.h"

#define QUEUE_AHEAD 256u /* packets handed to the GPU model before they retire */

enum packet_kind {
	PACKET_NOP,	 /* costs its time, then retires: empty barrier, vendor */
	PACKET_DISPATCH, /* timed only */
	PACKET_COPY,	 /* the runtime's copy kernel, or an SDMA copy */
	PACKET_FILL,
	PACKET_BLIT, /* a copy or fill kernel of the HIP runtime */
	PACKET_SPIN, /* kfdreplay_spin */
	PACKET_AND,
	PACKET_OR,
	PACKET_VALUE,	/* AQL: wait on signals */
	PACKET_POLL,	/* SDMA, PM4: wait on memory */
	PACKET_EFFECTS, /* SDMA: a run of small packets without a time of their own */
	PACKET_PM4,	/* the same of PM4 packets */
};

/* A piece of PM4 or SDMA code: in the queue's ring (at: dwords) or elsewhere (an
 * address). */
struct pm4_code {
	uint64_t at, dwords;
	bool ring;
};

/* blit.c: the HIP runtime's copy and fill kernels. */
enum blit {
	BLIT_NONE,
	BLIT_COPY,
	BLIT_COPY_ALIGNED,
	BLIT_RECT,
	BLIT_RECT_ALIGNED,
	BLIT_FILL,
	BLIT_FILL_2D,
	BLIT_WRITE,
	BLIT_UNKNOWN, /* another of them: its effect will be missing */
};
struct blit_call {
	uint64_t kernarg;
	uint32_t items; /* work-items along x */
	enum blit which;
};

/* A packet handed to the GPU model and not yet retired. */
struct packet {
	enum packet_kind kind;
	bool part;	   /* of an indirect buffer, and more of it follows */
	bool moved;	   /* AQL: its bytes are, or are about to be */
	uint64_t at, end;  /* ring positions: packets (AQL), bytes (SDMA), dwords (PM4) */
	uint32_t count;	   /* packets of the ring in it; AQL: end - at */
	uint64_t signal;   /* AQL completion signal, 0: none */
	uint64_t start_ns; /* wall, when it began to take effect */
	uint32_t kernel;   /* DISPATCH: index in world.kernels */
	union {
		struct {
			uint64_t dst, src, bytes;
			uint32_t value; /* FILL: the dword */
			uint32_t unit;	/* FILL: 4, or 1 for a byte fill */
		} move;
		struct {
			uint64_t cells;
		} spin;
		struct {
			uint64_t signals[5];
		} deps;
		struct {
			uint64_t address, reference, mask;
			uint32_t function; /* comparison, in the packet's own code */
			bool wide;	   /* 64 bits */
		} poll;
		struct pm4_code code;
		struct blit_call blit;
	};
};

/* What the report says of a queue; outlives it. */
struct queue_record {
	STAILQ_ENTRY(queue_record) link;
	uint32_t id, type, gpu_id;
	/* Packets: submitted = handed to the GPU, each then executed or discarded. */
	uint64_t submitted, packets, discarded;
	uint64_t dispatches, timed_only, suspends, resumes;
	struct gpu_queue_stats stats;
	struct queue *live; /* NULL once destroyed */
	char stopped[128];  /* why it takes no packets any more; "": it does */
};

/* Where a queue stands in hardware (hqd.c; engine and rlc: queue_create.c). */
struct queue_place {
	uint64_t serial;      /* unique */
	uint32_t engine, rlc; /* SDMA */
	int hqd;	      /* slot; -1: none */
	bool stale;	      /* its registers are not the queue's any more */
	uint64_t shown_rptr, shown_wptr;
};

struct queue {
	TAILQ_ENTRY(queue) link; /* process->queues, newest first */
	struct process *process;
	struct queue_record *record;
	uint32_t id, type, node;
	int gpu_queue; /* the GPU model's id of it */
	uint64_t ring, ring_bytes, rptr_address, wptr_address;
	uint64_t save_address;
	uint32_t save_bytes, eop_bytes;
	uint64_t eop_address;
	struct queue_place place;
	uint32_t percent, priority;
	uint32_t target_xcc;  /* PM4: bits 15:8 of the percentage */
	bool gws;	      /* holds the node's global wave sync */
	uint64_t exceptions;  /* kfdabi_ec_mask() bits */
	bool suspended;	      /* by the debugger interface */
	bool stalled;	      /* an unmatched RESUME stopped it (a switch) */
	uint64_t saved_units; /* what it had live when it was taken off last */
	bool being_destroyed;
	bool leaving;		     /* will be freed at the next unmap */
	struct call_list destroyers; /* DESTROY_QUEUE calls that sleep until it is resumed */
	bool reset;	 /* alone, by the driver: off until something activates it anew */
	bool stopped;	 /* after an error in its packets: fetches no more */
	bool map_wanted; /* what the last bounce asked for */

	uint32_t doorbell_index;
	volatile uint64_t *doorbell;
	uint64_t doorbell_last, doorbell_seen_ns;
	uint64_t rung_due_ns; /* virtual time: when the last store is noticed; 0: it has been */

	/* The ring as the engine has it: the last that was not null. */
	uint64_t hw_ring, hw_ring_bytes;
	/* Ring positions, in packets (AQL), bytes (SDMA) or dwords (PM4):
	 * retired <= fetched <= limit. */
	uint64_t limit, limit_seen, fetched, retired;
	uint64_t passed; /* AQL: where the read pointer is */
	struct packet ahead[QUEUE_AHEAD];
	uint64_t submitted, done; /* counts; slot = count % QUEUE_AHEAD */
	TAILQ_ENTRY(queue) mover; /* in world.moves or .moved */
	struct moving moving;
	bool waiting; /* the packet of count `waiting_at` holds the queue until a value comes */
	uint64_t waiting_at;

	struct pm4_code sdma_ib; /* what is left of the indirect buffer */
	uint64_t sdma_ib_end;	 /* ring position behind the packet that named it */
	struct pm4 *pm4;	 /* pm4.c; NULL before the first PM4 packet */
	uint64_t ib_signal;	 /* completion signal of the AQL packet it is in */
	uint64_t atomic_result;	 /* of the last PM4 atomic */
};

static inline bool is_aql(const struct queue *queue)
{
	return queue->type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

static inline bool is_compute_type(uint32_t type)
{
	return type == KFD_IOC_QUEUE_TYPE_COMPUTE || type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

/* queue_create.c, queue_change.c, queue_destroy.c */
int ioctl_create_queue(struct call *call);
int ioctl_destroy_queue(struct call *call);
int ioctl_update_queue(struct call *call);
int ioctl_set_cu_mask(struct call *call);
int ioctl_alloc_queue_gws(struct call *call);
int ioctl_wave_state(struct call *call);
void queues_forget_interrupted(struct world *world); /* DESTROYs that a signal took out */
struct queue *queue_by_id(const struct process *process, uint32_t id);
void queue_drop(struct queue *queue);
/* Some queue on these nodes may have been resumed; `rule`: by what. */
void queues_wake_destroyers(struct process *process, uint64_t nodes, enum kfdabi_rule rule);
/* Process teardown: unmaps and drops all its queues, then drops one reference. */
void queues_tear_down(struct process *process);

/* queue_error.c: what the packet processor finds wrong; the queue stops. The
 * values are the driver's exception codes. */
enum queue_error_code {
	QUEUE_ERROR_DIMENSION = 16,
	QUEUE_ERROR_GROUP_MEMORY = 17,
	QUEUE_ERROR_CODE = 18,
	QUEUE_ERROR_UNSUPPORTED = 20,
	QUEUE_ERROR_GROUP_SIZE = 21,
	QUEUE_ERROR_VENDOR = 23,
};
/* The rest is what was found and where, as for printf. */
void queue_error(struct queue *queue, enum queue_error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The queue takes no packets any more; says why, and so does the report. */
void queue_halt(struct queue *queue, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Exceptions of the queue, to its runtime, as that has asked for them. */
void queue_tell_runtime(const struct queue *queue, uint64_t mask);

/* aql.c, sdma.c, pm4.c: packets into the GPU model and their effects out of it. An
 * effect that leaves a move under way is to be called again when that is over. */
void aql_fetch(struct queue *queue);
void aql_consumed(struct queue *queue, const struct packet *packet); /* a switch: it begins */
void aql_effect(struct queue *queue, struct packet *packet, uint64_t end_ns);
bool aql_ready(struct queue *queue, const struct packet *packet);
/* The event of a signal, after its value was written. -EFAULT. */
int aql_notify_signal(struct process *process, uint64_t signal);
void sdma_fetch(struct queue *queue);
void sdma_effect(struct queue *queue, struct packet *packet, uint64_t end_ns);
void pm4_fetch(struct queue *queue);
/* What an AQL vendor packet names: the four words of its PM4 jump. 0 or negative
 * errno: -EAGAIN later, -EBADMSG not such a packet. */
int pm4_enter_aql(struct queue *queue, const uint32_t *words, uint64_t completion_signal);
bool pm4_inside(const struct queue *queue); /* an indirect buffer is under way */
int pm4_fetch_inside(struct queue *queue);  /* one unit of it; has dealt with errors */
/* When it takes effect; its end is told when it retires. */
void pm4_effect(struct queue *queue, struct packet *packet, uint64_t now_ns);
void pm4_retired(struct queue *queue, const struct packet *packet);
void pm4_release(struct queue *queue);

/* kernels.c: what a dispatched kernel is. */
struct dispatch {
	uint64_t kernel_object, kernarg;
	uint32_t grid[3], group[3];
	uint32_t workgroups;
};
/* Fills kind, kernel and arguments of *packet and the time of one workgroup
 * (model). Negative: the arguments cannot be read. */
int kernels_classify(struct process *process, const struct dispatch *dispatch,
		     struct packet *packet, uint64_t *wg_ns);
void kernels_forget(struct process *process, uint64_t va, uint64_t bytes); /* memory freed */
void kernels_release(struct process *process);
/* blit.c: the HIP runtime's copy and fill kernels. */
enum blit blit_of_name(const char *name);
/* 0 or -EFAULT. */
int blit_bytes(const struct process *process, const struct blit_call *call, uint64_t *bytes);
int blit_move(const struct process *process, const struct blit_call *call, struct move *move,
	      uint64_t *fault);

/* codeobj.c: names from the runtime's list of loaded code objects. */
/* Calls found() for each kernel symbol of each code object not seen before. */
int codeobj_walk(struct process *process, uint64_t r_debug,
		 bool (*seen)(void *arg, uint64_t load_address),
		 void (*found)(void *arg, uint64_t kernel_object, const char *name), void *arg);
uint64_t codeobj_r_debug(struct process *process); /* 0: no runtime there */

#endif
