/* SPDX-License-Identifier: MIT */
/*
 * Interface of queues and their packets: ioctls and life of a queue, the path of packets from the
 * ring to the GPU model, and their effects on memory. Threads, locks and times:
 * sim/host/sim_priv.h. Errors: negative errno.
 */
#ifndef KFDSHIM_SIM_DRIVER_QUEUE_H
#define KFDSHIM_SIM_DRIVER_QUEUE_H

#include "sim/driver/process.h"

#define GFX_9_4_3 90402u /* as in the topology */
#define NEW_MASK kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW)
#define QUEUE_AHEAD 256u /* most packets of one queue that the GPU model holds at once */

/* What a packet does. Unless noted, it takes effect after its time has passed in the GPU model. */
enum packet_kind {
	PACKET_NOP,	 /* no effect: empty barrier, vendor packet */
	PACKET_DISPATCH, /* kernel that is timed, not executed */
	PACKET_COPY,	 /* copy kernel of ROCr */
	PACKET_FILL,
	PACKET_BLIT,	/* copy or fill kernel of the HIP runtime */
	PACKET_SPIN,	/* kfdreplay_spin */
	PACKET_AND,	/* AQL barrier-AND: waits until all signals are 0 */
	PACKET_OR,	/* AQL barrier-OR: waits until one signal is 0 */
	PACKET_VALUE,	/* AQL: waits for the value of a signal */
	PACKET_POLL,	/* SDMA, PM4: waits for a value in memory */
	PACKET_EFFECTS, /* SDMA: several packets in sequence, or a copy */
	PACKET_PM4,	/* PM4: several packets in sequence, or a transfer */
};

/* A sequence of PM4 or SDMA packets, in the queue's ring (`at` is a position in dwords) or in other
 * memory (`at` is an address). */
struct pm4_code {
	uint64_t at, dwords;
	bool ring;
};

/* The copy and fill kernels of the HIP runtime (blit_kernels.c). */
enum blit {
	BLIT_NONE,
	BLIT_COPY,
	BLIT_COPY_ALIGNED,
	BLIT_RECT,
	BLIT_RECT_ALIGNED,
	BLIT_FILL,
	BLIT_FILL_2D,
	BLIT_WRITE,
	BLIT_UNKNOWN, /* another kernel of HIP; its effect is not simulated */
};
/* One dispatch of a copy or fill kernel of the HIP runtime. */
struct blit_call {
	uint64_t kernarg;
	uint32_t items; /* work-items in x direction */
	enum blit which;
};

/* A packet that was passed to the GPU model and has not retired. */
struct packet {
	enum packet_kind kind;
	bool part;	   /* part of an indirect buffer, and another part follows */
	bool moved;	   /* AQL: the copy or fill was started and must not be started again */
	uint64_t at, end;  /* ring positions: in packets (AQL), bytes (SDMA) or dwords (PM4) */
	uint32_t count;	   /* number of ring packets that the packet contains; AQL: end - at */
	uint64_t signal;   /* AQL completion signal; 0: none */
	uint64_t start_ns; /* wall time at which the packet began to take effect */
	uint32_t kernel;   /* DISPATCH: index in sim.kernels */
	union {
		struct {
			uint64_t dst, src, bytes;
			uint32_t value;	  /* FILL: the dword to write */
			uint32_t element; /* FILL: 4, or 1 to fill with bytes */
		} move;
		struct {
			uint64_t cells;
		} spin;
		struct {
			uint64_t signals[5];
		} deps;
		struct {
			uint64_t address, reference, mask;
			uint32_t function; /* comparison function, as encoded in the packet */
			bool wide;	   /* 64 bits, else 32 */
		} poll;
		struct pm4_code code;
		struct blit_call blit;
	};
};

#define MOVE_PATTERN_MAX 256u

/* One copy or fill: `slices` slices of `rows` rows of `bytes` bytes. Pitches are in bytes, modulo
 * 2^64. */
struct move {
	uint64_t dst, src;
	uint64_t bytes, rows, slices; /* if one of the three is 0, there is nothing to copy */
	uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
	uint64_t at, row, slice; /* progress; at: byte in the row */
	uint64_t fault;		 /* address that could not be accessed */
	uint32_t pattern_bytes;	 /* length of the pattern that fills each row; 0: copy from src */
	char pattern[MOVE_PATTERN_MAX];
};

/* A copy that the copy thread makes for a queue, and the queue's events that wait for its end. */
struct moving {
	struct move move;
	bool under_way; /* the queue is in sim.moves or, when the copy is over, in sim.moved */
	bool over;
	struct gpu_event by;	/* event that caused the copy */
	struct gpu_event *held; /* later events of the queue, in order; owned */
	unsigned n_held;
};

/* Data for the report at the end of the simulation about one queue. Outlives the queue. */
struct queue_record {
	STAILQ_ENTRY(queue_record) link;
	uint32_t id, type, gpu_id;
	/* Packets: `submitted` to the GPU model, and then executed (`packets`) or discarded. */
	uint64_t submitted, packets, discarded;
	uint64_t dispatches, timed_only, suspends, resumes;
	struct gpu_queue_stats stats;
	struct queue *live; /* NULL once the queue is destroyed */
	char stopped[128];  /* why the queue fetches no more packets; "": it fetches them */
};

/* Hardware resources of a queue. queue_create.c assigns engine and rlc, debugfs_hqd.c the slot
 * (hqd). */
struct queue_position {
	uint64_t serial;      /* unique in the simulation */
	uint32_t engine, rlc; /* SDMA: engine, and number of the queue in the engine */
	int hqd;	      /* hardware queue slot; -1: none */
	bool stale;	      /* the shown registers are outdated */
	uint64_t dump_rptr, dump_wptr;
};

struct queue {
	TAILQ_ENTRY(queue) link; /* in process->queues, newest first */
	struct process *process;
	struct queue_record *record;
	uint32_t id, type, node;
	int gpu_queue; /* id in the GPU model; -1: none yet */
	uint64_t ring, ring_bytes, rptr_address, wptr_address;
	uint64_t save_address;
	uint32_t save_bytes, eop_bytes;
	uint64_t eop_address;
	struct queue_position position;
	uint32_t percent, priority;
	uint32_t target_xcc; /* PM4: bits 15:8 of queue_percentage */
	bool gws;	     /* holds the node's global wave sync */
	uint64_t exceptions; /* mask of kfdabi_ec_mask() bits */
	bool suspended;	     /* by SUSPEND_QUEUES */
	/* stopped by a RESUME while the queue was not suspended (--set unmatched_resume_unmaps) */
	bool stalled;
	uint64_t saved_wave_slots; /* wave slots held when the queue was last unmapped */
	bool being_destroyed;
	bool removed;		     /* freed at the next unmap */
	struct call_list destroyers; /* DESTROY_QUEUE calls that sleep until the queue is resumed */
	/* reset by the driver without a reset of the GPU; not mapped until a RESUME_QUEUES or the
	 * end of an eviction */
	bool reset;
	bool stopped;	 /* the queue fetches no more packets, because a packet had an error */
	bool map_wanted; /* on the runlist since the last update */

	uint32_t doorbell_index;
	volatile uint64_t *doorbell;
	uint64_t doorbell_last, doorbell_seen_ns;
	/* virtual time: when the last doorbell store takes effect; 0: no store is pending */
	uint64_t rung_due_ns;

	/* Ring that the engine uses: the last `ring` that was not NULL. */
	uint64_t hw_ring, hw_ring_bytes;
	/* Ring positions, in packets (AQL), bytes (SDMA) or dwords (PM4): retired <= fetched <=
	 * limit. limit_seen: value of the last doorbell or write pointer, which becomes `limit`
	 * when packets are fetched. */
	uint64_t limit, limit_seen, fetched, retired;
	uint64_t passed; /* AQL: value of the read pointer in memory */
	struct packet ahead[QUEUE_AHEAD];
	/* packets submitted and retired so far; packet i is ahead[i % QUEUE_AHEAD] */
	uint64_t submitted, done;
	TAILQ_ENTRY(queue) copy_entry; /* in sim.moves or sim.moved */
	struct moving moving;
	bool waiting; /* packet number waiting_at waits for a value in memory */
	uint64_t waiting_at;

	struct pm4_code sdma_ib; /* rest of the indirect buffer */
	/* ring position after the packet that refers to the indirect buffer */
	uint64_t sdma_ib_end;
	struct pm4 *pm4; /* pm4.c; NULL before the first PM4 packet */
	/* completion signal of the AQL packet that refers to the indirect buffer */
	uint64_t ib_signal;
	uint64_t atomic_result; /* result of the last PM4 atomic */
};

static inline bool is_aql(const struct queue *queue)
{
	return queue->type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

static inline bool is_compute_type(uint32_t type)
{
	return type == KFD_IOC_QUEUE_TYPE_COMPUTE || type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

/* ---- queue_create.c, queue_update.c, queue_destroy.c: ioctls and life of a queue ---- */
/* CREATE_QUEUE: creates and maps a queue. Returns CALL_PENDING; the result is 0, or -ETIME or -EIO
 * if the firmware does not answer. Returns at once the errors of queue_check_create(), and:
 * -ENOSPC: the process has too many queues on this node. -EPERM: the node has too many queues.
 * -ENOMEM: no queue id or no queue of an SDMA engine is free. -EBUSY: no doorbell is free. */
int ioctl_create_queue(struct call *call);
/* DESTROY_QUEUE: unmaps and frees a queue. Returns CALL_PENDING. In a debug session the call sleeps
 * while the queue is suspended. -EINVAL: unknown queue. -EBUSY: another thread destroys the queue
 * (Linux 7). -EIO: --set destroy_suspended_fails. */
int ioctl_destroy_queue(struct call *call);
/* UPDATE_QUEUE: changes percentage, priority and ring. Returns CALL_PENDING; the result is -EACCES
 * if the firmware does not answer, or the process has lost queues on this node to a reset. -EINVAL:
 * bad numbers. -EFAULT: unknown queue, or the ring is not mapped. */
int ioctl_update_queue(struct call *call);
/* SET_CU_MASK: sets the CUs of the queue; a mask of more than 1024 bits is cut. Returns
 * CALL_PENDING. -EINVAL: the number of bits is 0 or no multiple of 32. -EFAULT: bad pointer, or
 * unknown queue. */
int ioctl_set_cu_mask(struct call *call);
/* ALLOC_QUEUE_GWS: gives the node's GWS (global wave sync) to the queue, or takes it back. Returns
 * CALL_PENDING. -EINVAL: unknown queue, or GWS to take back that no queue has. -ENODEV: the node
 * has no GWS. -EBUSY: a queue of the process has it, or the process is debugged
 * (debug_with_gws()). */
int ioctl_alloc_queue_gws(struct call *call);
/* GET_QUEUE_WAVE_STATE: copies the saved state of a queue that is not mapped. Returns 0; -EINVAL:
 * not a compute queue, or mapped; -EFAULT: unknown queue, or bad pointer. */
int ioctl_wave_state(struct call *call);
/* Drops DESTROY_QUEUE calls that were interrupted by a signal while they slept. */
void queues_forget_interrupted(struct sim *sim);
/* Returns the process's queue with this id, or NULL. */
struct queue *queue_by_id(const struct process *process, uint32_t id);
/* Frees a queue that is not mapped, and removes it from the GPU model. */
void queue_drop(struct queue *queue);
/* Lets sleeping DESTROY_QUEUE calls continue when the process is unlocked, if their queues are on
 * @nodes (mask) and no longer suspended. Does nothing if --break breaks @rule, the driver rule that
 * such calls continue. */
void queues_wake_destroyers(struct process *process, uint64_t nodes, enum kfdabi_rule rule);
/* Unmaps and frees all queues of a process that has ended. */
void queues_tear_down(struct process *process);

/* ---- queue_create.c: the checks of CREATE_QUEUE and UPDATE_QUEUE. Order and error numbers are
 * those of Linux 6.12.95 (kfd_chardev.c, kfd_queue.c, kfd_process_queue_manager.c,
 * kfd_device_queue_manager.c). ---- */
/* Checks percentage, priority, ring address and ring size, which CREATE_QUEUE and UPDATE_QUEUE have
 * in common. Raises a *@ring_bytes below 1024 to 1024. Returns 0, -EINVAL or -EFAULT. */
int queue_check_numbers(const struct sim *sim, uint32_t percent, uint32_t priority, uint64_t ring,
			uint32_t *ring_bytes);
/* Returns true if the node has a buffer mapped that begins in the page of @address and has exactly
 * @size bytes. A @size below one page matches any size. */
bool queue_check_buffer(const struct process *process, uint32_t node, uint64_t address,
			uint64_t size);

/* Passes the queue's priority to the GPU model, where it takes effect at the next runlist update.
 * Returns 0 or a negative errno. */
int queue_set_priority(struct queue *queue);

/* ---- debug_events.c: errors in a queue's packets ---- */
/* The driver's exception codes. */
enum queue_error_code {
	QUEUE_ERROR_DIMENSION = 16,
	QUEUE_ERROR_GROUP_MEMORY = 17,
	QUEUE_ERROR_CODE = 18,
	QUEUE_ERROR_UNSUPPORTED = 20,
	QUEUE_ERROR_GROUP_SIZE = 21,
	QUEUE_ERROR_VENDOR = 23,
};
/* Returns a text for the log that describes an AQL packet with this error. */
const char *queue_error_text(enum queue_error_code code);
/* Stops the queue because of an error in its packets. Reports the exception to the debugger if it
 * has enabled the exception, otherwise to the runtime. @format: what was found and where, as for
 * printf. */
void queue_error(struct queue *queue, enum queue_error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Stops the queue: it fetches no more packets. Logs the reason and keeps it for the report. */
void queue_halt(struct queue *queue, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- packets.c: packets between the ring and the GPU model ---- */
/* Passes new packets of the queue to the GPU model, as far as there is room. */
void engine_fetch(struct queue *queue);
/* Handles a GPU access of the queue that failed (address: sim->fault_va): stops the queue and
 * raises a memory violation. If no debugger has enabled this exception, the driver evicts the
 * process from this node and signals its memory events. */
void engine_fault(struct queue *queue);
/* Passes one packet to the GPU model and keeps a copy of @packet until it retires. Returns 0,
 * -EAGAIN if the model has no room, or another negative errno. */
int engine_submit(struct queue *queue, const struct packet *packet,
		  const struct gpu_packet *gpu_packet);
/* Handles an event of the node's GPU model that concerns a packet or a runlist update. */
void packets_event(struct node *node, const struct gpu_event *event);
/* Lets queues continue whose awaited value is in memory now. Returns true if one continues. */
bool packets_check_waiting(struct sim *sim);
/* Completes the packets whose background copy (gpu_memory.c) is over, and handles the events of
 * their queues that were held back. Returns true if a copy was over. */
bool packets_copy_end(struct sim *sim);

/* ---- aql.c, sdma.c, pm4.c: packets into the GPU model, and their effects ---- */
/* *_fetch() functions pass new packets to the GPU model. *_effect() functions carry a packet out.
 * If this starts a background copy (queue->moving.under_way), *_effect() is called again for the
 * packet when the copy is over. */
void aql_fetch(struct queue *queue);
/* Advances the read pointer past a kernel that begins (--set rptr_at_consumption). */
void aql_consumed(struct queue *queue, const struct packet *packet);
void aql_effect(struct queue *queue, struct packet *packet, uint64_t end_ns);
/* Returns true if the value that the packet waits for has come. */
bool aql_ready(struct queue *queue, const struct packet *packet);
/* Returns the wave slots that one workgroup with @lds_bytes of group memory holds, or a negative
 * queue_error_code. A workgroup holds at least the fraction of a CU's wave slots that it uses of
 * the CU's LDS. */
int64_t aql_wave_slots(const struct sim_config *config, uint64_t threads, uint64_t lds_bytes);
/* Sends the interrupt of a signal whose value was written. Returns 0 or -EFAULT. */
int aql_notify_signal(struct process *process, uint64_t signal);
/* Like aql_fetch() and aql_effect(), but for SDMA and PM4 queues. */
void sdma_fetch(struct queue *queue);
void sdma_effect(struct queue *queue, struct packet *packet, uint64_t end_ns);
void pm4_fetch(struct queue *queue);
/* Begins to execute the indirect buffer to which an AQL vendor packet refers; @words: the four
 * dwords of its PM4 jump. Returns 0; -EAGAIN: try later; -EBADMSG: @words are no such jump; another
 * negative errno. */
int pm4_enter_aql(struct queue *queue, const uint32_t *words, uint64_t completion_signal);
/* Returns true while an indirect buffer is executed. */
bool pm4_inside(const struct queue *queue);
/* Passes the next part of the indirect buffer to the GPU model. Returns 0 or a negative errno; the
 * function has handled the error itself. */
int pm4_fetch_inside(struct queue *queue);
/* pm4_effect() carries the packets out when the GPU model starts them. pm4_retired() writes the
 * read pointer when they retire. */
void pm4_effect(struct queue *queue, struct packet *packet, uint64_t now_ns);
void pm4_retired(struct queue *queue, const struct packet *packet);
/* Frees queue->pm4. */
void pm4_release(struct queue *queue);

/* ---- kernels.c: kind and run time of a dispatched kernel ---- */
/* What kernels_classify() needs of a dispatch packet. */
struct dispatch {
	uint64_t kernel_object, kernarg;
	uint32_t grid[3], group[3];
	uint32_t workgroups;
};
/* Sets kind, kernel and arguments of *@packet, and *@wg_ns to the time of one workgroup (model
 * time). Returns 0; -EFAULT: the arguments cannot be read; -ENOMEM. */
int kernels_classify(struct process *process, const struct dispatch *dispatch,
		     struct packet *packet, uint64_t *wg_ns);
/* Forgets the kernels in [va, va + bytes), because that memory was freed. */
void kernels_forget(struct process *process, uint64_t va, uint64_t bytes);
/* Frees the list of kernels that kernels_classify() keeps for the process. */
void kernels_release(struct process *process);

/* ---- blit_kernels.c: copy and fill kernels of the HIP runtime ---- */
/* Returns which copy or fill kernel has this name; BLIT_NONE for a program's own kernel. */
enum blit blit_of_name(const char *name);
/* Sets *@bytes to the number of bytes that the kernel copies or fills. Returns 0 or -EFAULT. */
int blit_bytes(const struct process *process, const struct blit_call *call, uint64_t *bytes);
/* Fills in *@move for the kernel. Returns 0, or -EFAULT with the bad address in *@fault. */
int blit_move(const struct process *process, const struct blit_call *call, struct move *move,
	      uint64_t *fault);

/* ---- gpu_memory.c: copies and fills of memory that a packet makes ---- */
/* Makes the copy in queue->moving.move. Returns 0 if all bytes are copied. Returns 1 if the caller
 * has to return, because
 * - the copy thread continues the copy; the packet's effects are carried out again at its end, or
 * - the queue has stopped with a memory fault. */
int move_begin(struct queue *queue);
/* Keeps an event of a queue until the copy thread has finished the copy that a packet of this queue
 * makes. Returns false if there is no room, which happens only to GPU_EVENT_WORKGROUPS. */
bool move_hold(struct queue *queue, const struct gpu_event *event);
/* Removes a queue from sim.moved, whose copy the copy thread has finished, and returns it; NULL:
 * there is none. */
struct queue *move_next_over(struct sim *sim);
/* Drops the copy that a packet of a queue makes, because the queue is being freed. */
void move_drop(struct queue *queue);

/* Start and end the copy thread. copy_thread_start() returns 0 or a negative errno;
 * copy_thread_stop() must be called without sim->lock. */
int copy_thread_start(struct sim *sim);
void copy_thread_stop(struct sim *sim);

#endif
