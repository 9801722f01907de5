/* SPDX-License-Identifier: MIT */
/*
 * The driver's own objects, shared by the files of sim/kfd: world, KFD
 * process, buffer, event, queue, and a call (one trapped ioctl in service).
 *
 * Threads: two, one at a time (world->lock). Nothing else here locks; what the kernel guards with a process's
 * mutex is kept apart by process_lock() below, because a call that waits for
 * the GPU is answered later, while others are served.
 *
 * Times: names end in _ns; wall time unless they say model.
 */
#ifndef KFDSHIM_SIM_KFD_KFD_H
#define KFDSHIM_SIM_KFD_KFD_H

#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"
#include "common/hist.h"
#include "sim/gpu/gpu.h"
#include "sim/kfd/memory.h"
#include "sim/kfd/world.h"

#define DOORBELL_PAGE 8192u
#define DOORBELLS_PER_PAGE (DOORBELL_PAGE / 8u)
#define QUEUE_IDS_MAX 1024u	     /* per process, all GPUs (kfd-facts 3) */
#define QUEUES_PER_PROCESS_NODE 255u /* at most; queue_create.c */
#define QUEUE_AHEAD 256u	     /* packets handed to the GPU model before they retire */
#define PAGE_BYTES 4096u

/* A handler that answers later (call_answer), or whose call waits for a mutex. */
#define CALL_PENDING INT_MIN

struct world;
struct process;
struct queue;
TAILQ_HEAD(bounce_list, bounce);

/* One trapped ioctl. Lives until call_answer(). */
struct call {
	struct world *world;
	struct process *process; /* the caller's, referenced; NULL: render node */
	uint64_t id;		 /* of the notification */
	pid_t tid;		 /* the calling thread, in the supervisor's pid namespace */
	uint8_t type;		 /* 'K' or 'd' */
	uint32_t nr;
	uint32_t user_size; /* what the caller's command word says */
	uint64_t user_arg;  /* the caller's address of it */
	int fd;		    /* the caller's descriptor of the device */
	uint32_t node;	    /* render node: which */
	bool copy_back;
	TAILQ_ENTRY(call) link;	  /* in a process's `blocked` */
	_Alignas(16) char data[]; /* at least as long as the driver's own struct */
};
TAILQ_HEAD(call_list, call);

struct event {
	bool used, auto_reset, signaled;
	uint32_t type;
	uint64_t age;
};

/* How often one thread's waits were over at once within a second (events.c). */
#define SPINS 8u
struct spin {
	pid_t tid;
	uint64_t second;
	uint32_t n;
};

struct waiter; /* events.c */
LIST_HEAD(waiter_list, waiter);

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

/* What the report says of a queue and a process; outlives both. */
struct queue_record {
	STAILQ_ENTRY(queue_record) link;
	uint32_t id, type, gpu_id;
	/* Packets: submitted = handed to the GPU, each then executed or discarded. */
	uint64_t submitted, packets, discarded;
	uint64_t dispatches, timed_only, suspends, resumes;
	struct gpu_queue_stats stats;
	struct queue *live; /* NULL once destroyed */
};

struct process_record {
	STAILQ_ENTRY(process_record) link;
	pid_t pid; /* as the world's own tasks see it */
	char comm[16];
	bool open_only;
	uint64_t spinning_waits; /* see events.c */
	STAILQ_HEAD(, queue_record) queues;
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
	bool stopped;		     /* after an error in its packets: fetches no more */
	bool map_wanted;	     /* what the last bounce asked for */

	uint32_t doorbell_index;
	volatile uint64_t *doorbell;
	uint64_t doorbell_last, doorbell_seen_ns;

	/* The ring as the engine has it: the last that was not null. */
	uint64_t hw_ring, hw_ring_bytes;
	/* Ring positions, in packets (AQL), bytes (SDMA) or dwords (PM4):
	 * retired <= fetched <= limit. */
	uint64_t limit, limit_seen, fetched, retired;
	struct packet ahead[QUEUE_AHEAD];
	uint64_t submitted, done; /* counts; slot = count % QUEUE_AHEAD */
	bool waiting; /* the packet of count `waiting_at` holds the queue until a value comes */
	uint64_t waiting_at;

	struct pm4_code sdma_ib; /* what is left of the indirect buffer */
	uint64_t sdma_ib_end;	 /* ring position behind the packet that named it */
	struct pm4 *pm4;	 /* pm4.c; NULL before the first PM4 packet */
	uint64_t ib_signal;	 /* completion signal of the AQL packet it is in */
	uint64_t atomic_result;	 /* of the last PM4 atomic */
};
TAILQ_HEAD(queue_list, queue);

static inline bool is_aql(const struct queue *queue)
{
	return queue->type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

static inline bool is_compute_type(uint32_t type)
{
	return type == KFD_IOC_QUEUE_TYPE_COMPUTE || type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

/* A descriptor whose file was looked at; copy -1: none. */
struct known_file {
	int fd, copy;
	dev_t device;
	ino_t inode;
	bool survives_exec;
};
#define KNOWN_FILES 4u

struct process {
	TAILQ_ENTRY(process) link; /* world->processes while alive */
	struct world *world;
	struct process_record *record;
	struct procfs_folder *folder; /* procfs.c; NULL: none */
	uint32_t pasid;
	unsigned refs;
	pid_t pid;     /* host: thread group */
	pid_t *ns_pid; /* the same in each namespace from ours inwards */
	unsigned ns_levels;
	ino_t ns_ino; /* of its pid namespace */
	int pidfd;
	int mem_fd;	  /* pins the mm: reads nothing once that is gone */
	uint64_t token;	  /* in the file position of the descriptors it opened */
	uint64_t own_fds; /* descriptors below 64 known as opened by it */
	struct known_file files[KNOWN_FILES];
	unsigned next_file;
	struct process *primary; /* whose secondary context it is; NULL: it is none */
	unsigned contexts;	 /* secondary ones it has */
	uint32_t context;	 /* number of a secondary one, the lowest free */
	bool dead;		 /* mm gone; the object waits for its references */

	/* The kernel's process->mutex. */
	bool locked;
	struct call_list blocked;
	bool disable_later; /* its debugger died while it was locked */

	uint64_t slot; /* of the doorbell pages */
	volatile uint64_t *doorbells[WORLD_NODES_MAX];
	struct gpu_vm vm[WORLD_NODES_MAX];
	uint32_t acting; /* the node whose GPU accesses memory now, or NODE_ANY */
	uint64_t vram[WORLD_NODES_MAX], gtt;
	struct svm *svm; /* svm.c; NULL: no range has attributes */
	int32_t xnack;

	struct event *events; /* by id, 0 is never used */
	uint32_t cap_events;
	uint64_t event_page;	   /* handle of the buffer with the slots, 0: none given */
	struct pages *event_slots; /* referenced */
	uint32_t n_signal_events;
	struct waiter_list waiters;
	struct spin spins[SPINS];		    /* by thread id */
	struct kfd_hsa_memory_exception_data fault; /* of the last memory fault */
	struct kfd_hsa_hw_exception_data hw_exception;

	struct queue_list queues;
	uint64_t queue_ids[QUEUE_IDS_MAX / 64];

	bool evicted;	      /* all its queues, on all nodes, by a GPU reset: for ever */
	uint64_t reset_nodes; /* where it had queues when the GPU was reset */
	bool saved_before;    /* savearea.c has written something */

	/* Debugger interface. */
	uint32_t runtime_state; /* enum kfdabi_runtime_state */
	uint32_t ttmp_setup;
	uint64_t r_debug;
	bool session;		  /* kernel: debug_trap_enabled */
	struct process *debugger; /* referenced; may be set without a session */
	int debugged;		  /* kernel: debugged_process_count; may go below 0 */
	int event_fd;		  /* a copy of the debugger's dbg_fd, -1: none */
	uint64_t exceptions, exceptions_enabled;
	uint64_t device_exceptions[WORLD_NODES_MAX];
	uint64_t violation[WORLD_NODES_MAX]; /* address of the last memory violation */
	uint8_t watches[WORLD_NODES_MAX];    /* its watchpoints: a bit for each id */
	uint32_t trap_mask, debug_flags;
	unsigned runtime_posts;		   /* the semaphore SEND_RUNTIME_EVENT counts up */
	struct call_list runtime_sleepers; /* RUNTIME_ENABLE that wait for one */

	struct kernel_map *kernels; /* kernels.c */
	bool fault_told;
};
TAILQ_HEAD(process_list, process);

struct extent {
	uint64_t offset, bytes;
};

struct node {
	struct world *world;
	uint32_t gpu_id;
	struct gpu *gpu;
	struct queue **by_gpu_queue;
	unsigned n_by_gpu_queue;
	unsigned active_queues;	    /* of all processes, as the runlist has them */
	uint8_t watches;	    /* watchpoints taken: a bit for each id */
	struct process *debug_vmid; /* who has the one VMID for debugging; not per VMID */
	/* bounce.c, reset.c */
	uint64_t bounces;	  /* begun */
	bool all_off;		  /* a bounce took all queues off and mapped none */
	bool hung, resetting;	  /* the firmware does not answer; a reset is under way */
	uint64_t firmware_due_ns; /* wall: the driver gives up, or the reset is over; 0: no */
	struct bounce_list stuck; /* wait for that */
	int render_fd;
	ino_t render_ino;
	char *memory; /* the whole render file */
	struct extent *holes;
	size_t n_holes, cap_holes;
	uint64_t heap_end;
	uint64_t vram_used, vram_aligned; /* bytes; in 2 MiB pieces */
	uint32_t resets;		  /* smi.c: told by number */
};

struct kernel_record {
	char *name;
	uint64_t dispatches;
	bool executed;
};

struct ioctl_count {
	uint8_t type;
	uint32_t nr;
	uint64_t count;
};

/* Cumulative since the world began. */
struct figures {
	struct hist doorbell_delay, save, restore;
	uint64_t bounces, bounce_model_ns;
};

struct world {
	struct world_config config;
	char *profile;
	uint64_t start_ns; /* wall; model time 0 */

	dev_t kfd_dev;
	ino_t kfd_ino;
	uint32_t nodes_n;
	struct node nodes[WORLD_NODES_MAX];
	uint64_t gtt_used, system_used; /* GTT; that and what is locked for the GPUs */
	uint64_t host_full; /* pages that the host could not give when the GPU touched them */
	LIST_HEAD(, drm_file) drm_files;
	LIST_HEAD(, dmabuf) dmabufs;
	int drm_poll_fd; /* epoll of the drm_files' processes and of dmabuf_fd */
	int dmabuf_fd;	 /* inotify */

	struct process_list processes;
	STAILQ_HEAD(, process_record) records;
	uint64_t next_token;
	uint64_t *slots; /* doorbell slots in use */
	size_t n_slots;
	struct {
		pid_t tid;
		struct process *process;
	} tids[1024];

	pthread_mutex_t lock; /* of everything here: two threads, see notify.c */
	int wake_fd;	      /* eventfd: what the loop sleeps for has changed */
	uint64_t sleeps_until_ns;

	int listener;
	pthread_t server;
	bool server_stops;
	const struct call *serving; /* the call whose handler is running */
	int poll_fd;		    /* epoll of the processes' pidfds */
	bool sync_wake;

	uint64_t last_doorbell_ns;
	uint64_t next_deadline_ns; /* of WAIT_EVENTS; UINT64_MAX: none */
	uint64_t next_check_ns;	   /* look for processes that exec'ed */
	unsigned n_destroyers;	   /* calls of DESTROY_QUEUE that sleep */
	unsigned n_waiting;	   /* queues that stand on a value in memory */

	/* For the report. */
	struct figures figures;
	uint64_t plain_updates; /* signals that had to be updated without an atomic */
	struct kernel_record *kernels;
	size_t n_kernels, cap_kernels;
	uint64_t ioctls[KFDABI_NR_END];
	struct ioctl_count *unknown;
	size_t n_unknown, cap_unknown;
	struct live *live;     /* live.c; NULL while it does not run */
	uint64_t live_ns;      /* when the figures were last given to it */
	uint64_t live_mark;    /* what had happened by then */
	struct procfs *procfs; /* procfs.c; NULL: no folder for it */
	LIST_HEAD(, smi_client) smi_clients;
	struct debugfs *debugfs; /* debugfs.c; NULL: no folder for it */
	struct hqds *hqds;	 /* hqd.c, likewise */
	uint64_t next_serial;	 /* of queues */
};

/* Is this the rule that is to be answered wrongly (kfdsim --break)? */
static inline bool rule_broken(const struct world *world, enum kfdabi_rule rule)
{
	return world->config.broken == rule;
}

/* descriptors.c. 0: *st has device and inode of the caller's file, and *known its
 * process if that is one of ours (alive, the thread really its). Negative errno. */
int descriptor_file(struct world *world, pid_t tid, int fd, struct process **known,
		    struct stat *st);
void descriptors_init(struct process *process);
void descriptors_release(struct process *process);

/* notify.c: the conversation with seccomp. A thread of its own waits in the
 * kernel for calls and serves each under world->lock. */
int notify_start(struct world *world, int listener);
void notify_stop(struct world *world);
void notify_refuse(struct world *world, uint64_t id, int error);
bool notify_alive(struct world *world, uint64_t id);
/* result >= 0 or -errno; frees the call. -ENOENT: the caller waits no more
 * (a signal took it out, or it is dead). */
int call_answer(struct call *call, int result);
bool call_alive(const struct call *call);
void call_drop(struct call *call); /* frees it without an answer: the caller is gone */
/* The caller's memory. */
int call_read(const struct call *call, uint64_t address, void *to, size_t n);
int call_write(const struct call *call, uint64_t address, const void *from, size_t n);
int call_stat(const struct call *call, int fd, struct stat *st); /* its descriptor; -EBADF */
/* A copy of our descriptor `fd` for the caller; flags: 0 or O_CLOEXEC. Its number. */
int call_add_fd(const struct call *call, int fd, uint32_t flags);

/* ioctl.c: the table of KFD ioctls. */
const char *ioctl_name(uint32_t nr);
/* Makes the call for a command word on a descriptor of the device and runs it. */
void ioctl_kfd(struct world *world, struct process *process, int fd, uint64_t id, pid_t tid,
	       uint32_t cmd, uint64_t arg);
/* The same for a render node: the caller's descriptor of it and which it is. */
void ioctl_drm(struct world *world, int fd, uint32_t node, uint64_t id, pid_t tid, uint32_t cmd,
	       uint64_t arg);
void ioctl_execute(struct call *call); /* again, after it was blocked */

/* process.c */
struct process *process_of_thread(struct world *world, pid_t tid); /* known ones only */
void process_forget_thread(struct world *world, pid_t tid);
struct process *process_new(struct world *world, pid_t tid);
struct process *process_new_context(struct process *primary);
bool process_mm_alive(const struct process *process);
void process_ref(struct process *process);
void process_unref(struct process *process);
void process_die(struct process *process);	       /* its mm is gone */
void process_reap(struct world *world);		       /* pidfds that became readable */
bool process_pid_alive(const struct process *process); /* else a zombie, or gone */
bool process_holds_kfd(const struct process *process); /* some descriptor of the device */
void process_check_all(struct world *world);
void process_lock(struct process *process);
void process_unlock(struct process *process); /* runs what was blocked meanwhile */
void process_block(struct process *process, struct call *call);
/* The process that `pid` names in the caller's namespace; any of its threads. */
struct process *process_by_ns_pid(struct process *caller, pid_t pid);
/* Makes a KFD process of one that this thread traces; NULL: it does not. */
struct process *process_new_traced(struct process *caller, pid_t pid, pid_t tracer);
int process_tracer(const struct process *process);     /* host tid of the lead thread's; 0: none */
int read_status(pid_t pid, char *buffer, size_t size); /* /proc/PID/status */

/* owner.c: has this process opened the descriptor itself? */
bool process_owns_fd(struct process *process, int fd);
off_t process_fd_mark(const struct process *process, int fd); /* -1: no such */
/* The open file is the context's from here on. */
int process_mark_fd(struct process *process, int fd, const struct process *context);
bool process_holds_mark(const struct process *process); /* has it a descriptor left? */

/* context.c: whose the descriptor is among a process's contexts. */
struct process *context_of(struct process *process, int fd);
int ioctl_create_process(struct call *call);
uint32_t context_number(const struct process *process); /* for a new one */
/* Its secondary contexts end: all, or those without a descriptor. */
void contexts_end(struct process *process, bool all);
/* The parent in whose memory it runs, without being a thread of it; 0: none. */
pid_t process_lender(pid_t tid);

/* access.c: what the GPU does to memory, at GPU addresses. */
void *access_direct(const struct process *process, uint64_t va, uint64_t bytes);
int access_read(const struct process *process, uint64_t va, void *to, size_t n);
int access_write(const struct process *process, uint64_t va, const void *from, size_t n);
int access_add64(struct process *process, uint64_t va, int64_t value);
int access_add32(struct process *process, uint64_t va, uint32_t value);
int access_copy(const struct process *process, uint64_t dst, uint64_t src, uint64_t bytes);
int access_fill(const struct process *process, uint64_t dst, uint64_t bytes, const void *pattern,
		size_t pattern_bytes);
/* op: the L2's code of an atomic operation, as PM4 and SDMA packets carry it.
 * *old (may be NULL): the value before. -EBADMSG: no such operation. */
int access_atomic(struct process *process, uint64_t va, unsigned op, uint64_t source,
		  uint64_t compare, uint64_t *old);
/* From a byte position of the queue's ring on, round its end. */
int ring_read(const struct queue *queue, uint64_t at, void *to, uint64_t bytes);
/* The process's own memory, at its own addresses. */
int process_read(const struct process *process, uint64_t address, void *to, size_t n);
int process_write(const struct process *process, uint64_t address, const void *from, size_t n);

/* events.c */
int ioctl_create_event(struct call *call);
int ioctl_destroy_event(struct call *call);
int ioctl_set_event(struct call *call);
int ioctl_reset_event(struct call *call);
int ioctl_wait_events(struct call *call);
void event_fire(struct process *process, uint32_t id);
/* An interrupt from a queue: the event of that id, if its slot was written, or
 * every event whose slot was. */
void event_interrupt(struct process *process, uint32_t context_id);
void event_memory_fault(struct process *process, uint32_t gpu_id, uint64_t va);
void event_hw_exception(struct process *process, uint32_t gpu_id); /* a GPU reset */
void events_expire(struct world *world, uint64_t now_ns);
void events_release(struct process *process);

/* bounce.c: changes of what is mapped. */
struct bounce {
	struct world *world;
	struct process *process; /* referenced; locked from bounce_begin() until it is over */
	struct call *call;	 /* answered with `result` at the end; may be NULL */
	int result;
	uint64_t nodes;	     /* mask of those that bounce, one after another */
	uint64_t failed;     /* of them: where the firmware did not answer */
	int error;	     /* of the first of these: -ETIME, or -EIO during a reset */
	uint32_t next_node;  /* that has not had its turn */
	uint32_t grace;	     /* units of 1024 clocks; KFDABI_GRACE_DEFAULT */
	bool unmap_only;     /* all queues of the node stay off until another bounce */
	unsigned again;	     /* so many times more, with nothing left to change */
	struct queue *queue; /* for the callbacks */
	/* All queues are off and the changes in effect, or the node has failed; the
	 * process is locked. May be NULL. */
	void (*unmapped)(struct bounce *bounce);
	/* The process is unlocked and what waited for it has run; may be NULL. */
	void (*released)(struct bounce *bounce);
	/* SUSPEND, RESUME: the array to write back (owned), what to clear, and how many
	 * queues of each node count. */
	uint32_t *ids;
	uint32_t n_ids;
	uint64_t ids_address, clear_mask;
	uint16_t counted[WORLD_NODES_MAX];
	bool resume;
	TAILQ_ENTRY(bounce) link; /* in node.stuck */
};
struct bounce *bounce_new(struct process *process, struct call *call,
			  void (*unmapped)(struct bounce *));
/* Brings the process's queues on those nodes to what they should be. Ends at
 * once where `nodes` is empty. Owns the bounce and its call from here on. */
void bounce_begin(struct bounce *bounce);
/* UNMAPPED and MAPPED of the GPU model. */
void bounce_event(struct node *node, const struct gpu_event *event);
/* It failed on this node; goes on with the next one. */
void bounce_failed(struct bounce *bounce, const struct node *node, int error);
/* Should it be mapped? */
bool queue_active(const struct queue *queue);
/* A queue may have ceased to be new: where that held it (a switch) it is mapped now. */
void bounce_collected(struct process *process);
/* Nodes whose runlist is not empty: elsewhere a change costs nothing. */
uint64_t nodes_active(const struct world *world);

/* reset.c: firmware that does not answer, and the GPU reset that follows. */
/* From now on nothing can be preempted on this node (debugfs: hang_hws). */
void firmware_hang(struct world *world, uint32_t node);
/* Will a bounce of the node, begun now, be answered? If not it is kept until the
 * driver gives up, and fails then or, during a reset, at once. */
bool firmware_answers(struct node *node, struct bounce *bounce);
void firmware_expire(struct world *world, uint64_t now_ns);
uint64_t firmware_due(const struct world *world); /* wall; UINT64_MAX: nothing to wait for */
void firmware_forget(struct node *node);	  /* the world ends */

/* savearea.c */
/* How much of XCC 0's part of its save area a compute queue used when it was taken
 * off last: bytes of control stack and of wave state. */
void savearea_sizes(const struct queue *queue, uint32_t *ctl_used, uint32_t *wave_used);
/* The header and the control stack into the save area of every compute queue. */
void savearea_write(struct process *process);

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
/* Some queue may have been resumed; `rule`: by what. */
void queues_wake_destroyers(struct process *process, enum kfdabi_rule rule);
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
void queue_error(struct queue *queue, enum queue_error_code code);
/* Exceptions of the queue, to its runtime, as that has asked for them. */
void queue_tell_runtime(const struct queue *queue, uint64_t mask);

/* aql.c, sdma.c, pm4.c: packets into the GPU model and their effects out of it. */
void aql_fetch(struct queue *queue);
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
void pm4_effect(struct queue *queue, const struct packet *packet, uint64_t now_ns);
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
void kernels_release(struct process *process);
/* blit.c: the HIP runtime's copy and fill kernels. */
enum blit blit_of_name(const char *name);
/* 0 or -EFAULT. */
int blit_bytes(const struct process *process, const struct blit_call *call, uint64_t *bytes);
int blit_run(const struct process *process, const struct blit_call *call, uint64_t *fault);
void kernels_forget(struct process *process, uint64_t va, uint64_t bytes); /* memory freed */

/* codeobj.c: names from the runtime's list of loaded code objects. */
/* Calls found() for each kernel symbol of each code object not seen before. */
int codeobj_walk(struct process *process, uint64_t r_debug,
		 bool (*seen)(void *arg, uint64_t load_address),
		 void (*found)(void *arg, uint64_t kernel_object, const char *name), void *arg);
uint64_t codeobj_r_debug(struct process *process); /* 0: no runtime there */

/* debug.c, runtime.c */
int ioctl_dbg_trap(struct call *call);
int ioctl_runtime_enable(struct call *call);
/* An exception of a queue, of the process (NULL), of a GPU. True: the debugger
 * has it enabled. Without a session nothing happens. */
bool debug_raise(struct process *process, struct queue *queue, uint64_t mask);
bool debug_raise_device(struct process *process, uint32_t node, uint64_t mask);
void debug_queue_deleted(struct process *process, uint32_t node);
/* True: the debugger has it, and the process is not to be told. */
bool debug_memory_violation(struct process *process, uint32_t node, uint64_t va);
/* False: old firmware, with which a process may use GWS or be debugged. */
bool debug_with_gws(const struct world *world);
void debug_check(struct process *process);	/* what --break makes it see */
void debug_session_end(struct process *target); /* resumes, detaches; now or when unlocked */
void debug_process_died(struct process *process);
void runtime_post(struct process *process);

/* clock.c */
uint64_t model_now(const struct world *world, uint64_t wall_ns);
uint64_t model_to_wall(const struct world *world, uint64_t model_ns);
uint64_t gpu_ticks(uint64_t wall_ns); /* the 100 MHz counter */
int ioctl_clock_counters(struct call *call);

/* drive.c */
void drive(struct world *world);	       /* doorbells, GPU, effects, timeouts */
uint64_t drive_due(const struct world *world); /* wall; UINT64_MAX: something is reported before */
void drive_fetch(struct queue *queue);
void drive_reread_wptr(struct node *node); /* after a map: work without a doorbell */
/* A GPU access failed: the queue stops, the process gets a memory fault. */
void drive_fault(struct queue *queue, uint64_t va);
int drive_submit(struct queue *queue, const struct packet *packet,
		 const struct gpu_packet *gpu_packet); /* -EAGAIN: no room */

/* drm.c */
int drm_ioctl(struct call *call);

/* report.c */
void report_kernel(struct world *world, uint32_t kernel);
uint32_t report_kernel_index(struct world *world, const char *name, bool executed);
void report_unknown(struct world *world, uint8_t type, uint32_t nr);
void report_queue_gone(struct queue *queue);

/* live.c: simulation.json. Without a folder for it, none of these does anything. */
int live_start(struct world *world);  /* starts its thread: not before a fork */
void live_stop(struct world *world);  /* ends the thread and writes the last state */
void live_write(struct world *world); /* at once, without the thread */
/* Has it written if something has changed and the last time is 100 ms ago. */
void live_update(struct world *world, uint64_t now_ns);
uint64_t live_due(const struct world *world);  /* UINT64_MAX: nothing has changed */
json_t *live_costs(const struct world *world); /* a new reference */

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
