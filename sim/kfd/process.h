/* SPDX-License-Identifier: MIT */
/*
 * A KFD process and a call (one trapped ioctl in service): what a process has,
 * its events and debugger interface included, and what is asked of it.
 * Rules of threads and times: sim/kfd/kfd.h.
 */
#ifndef KFDSHIM_SIM_KFD_PROCESS_H
#define KFDSHIM_SIM_KFD_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"
#include "sim/kfd/memory.h"
#include "sim/kfd/world.h"

#define DOORBELL_PAGE 8192u
#define DOORBELLS_PER_PAGE (DOORBELL_PAGE / 8u)
#define QUEUE_IDS_MAX 1024u	     /* per process, all GPUs: the driver's */
#define QUEUES_PER_PROCESS_NODE 255u /* at most; queue_create.c */
#define PAGE_BYTES 4096u

/* A handler that answers later (call_answer), or whose call waits for a mutex. */
#define CALL_PENDING INT_MIN

struct world;
struct process;
struct queue;
struct queue_record;
TAILQ_HEAD(queue_list, queue);

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
	bool begins_anew;	  /* interrupted, it leaves nothing done (WAIT_EVENTS) */
	int result;		  /* while in world->unheard */
	TAILQ_ENTRY(call) link;	  /* in a process's `blocked`, or world->unheard */
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

/* What the report says of a process; outlives it. */
struct process_record {
	STAILQ_ENTRY(process_record) link;
	pid_t pid; /* as the world's own tasks see it */
	char comm[16];
	bool open_only;
	uint64_t spinning_waits; /* see events.c */
	STAILQ_HEAD(, queue_record) queues;
};

/* A caller's descriptor and its open file. */
struct caller_file {
	int fd;
	dev_t device;
	ino_t inode;
	off_t mark; /* its file position (owner.c); -1: was not looked at */
};

/* One that was looked at before (descriptors.c). */
struct known_file {
	struct process *process; /* NULL: none */
	pid_t tid;
	int info; /* its fdinfo in /proc */
	bool survives_exec;
	struct caller_file file;
	size_t n; /* of text: what fdinfo said then */
	char text[128];
};
#define KNOWN_FILES 512u /* each holds a descriptor */

/* One trapped ioctl as it came. */
struct trapped {
	uint64_t id; /* of the notification */
	pid_t tid;
	uint32_t cmd;
	uint64_t arg;
	struct caller_file file;
};

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
	int mem_fd;		 /* pins the mm: reads nothing once that is gone */
	uint64_t token;		 /* in the file position of the descriptors it opened */
	struct process *primary; /* whose secondary context it is; NULL: it is none */
	unsigned contexts;	 /* secondary ones it has */
	uint32_t context;	 /* number of a secondary one, the lowest free */
	bool dead;		 /* mm gone; the object waits for its references */

	/* The kernel's process->mutex. */
	bool locked;
	struct call_list blocked;
	bool disable_later;   /* its debugger died while it was locked */
	struct call *pinning; /* an allocation that has it; NULL: none */
	uint64_t pinned_ns;   /* until then */

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
	uint64_t run_ns[WORLD_NODES_MAX]; /* model; of work until it had no queue there */

	/* The driver's qpd->evicted: while it is not 0 all its queues there are off (evict.c). */
	uint32_t evictions[WORLD_NODES_MAX];
	const char *lost[WORLD_NODES_MAX]; /* why they are off for good; NULL: they are not */
	uint64_t evicted_ns[WORLD_NODES_MAX], evicted_since_ns[WORLD_NODES_MAX]; /* till restored */
	uint64_t restore_due_ns;						 /* 0: not */
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
	unsigned stops_said;	    /* queues whose stop was said */
};
TAILQ_HEAD(process_list, process);

/* notify.c: what a handler does with its call.
 * result >= 0 or -errno; frees the call. -ENOENT: the caller waits no more
 * (a signal took it out, or it is dead). */
int call_answer(struct call *call, int result);
/* Is this the same call again, by the same thread, whose first answer was not
 * heard? Then it has got that answer now, and is freed. */
bool call_answered_before(struct call *again);
void calls_forget(const struct process *process); /* such answers: it has ended */
void calls_forget_all(struct world *world);
bool call_alive(const struct call *call);
void call_drop(struct call *call); /* frees it without an answer: the caller is gone */
/* The caller's memory. */
int call_read(const struct call *call, uint64_t address, void *to, size_t n);
int call_write(const struct call *call, uint64_t address, const void *from, size_t n);
int call_stat(const struct call *call, int fd, struct stat *st); /* its descriptor; -EBADF */
/* Has the caller one of these capabilities (1 << CAP_...), as the host counts them? */
bool caller_capable(const struct call *call, uint64_t any_of);
/* A copy of our descriptor `fd` for the caller; flags: 0 or O_CLOEXEC. Its number. */
int call_add_fd(const struct call *call, int fd, uint32_t flags);
void ioctl_execute(struct call *call); /* again, after it was blocked */

/* descriptors.c. 0: *file, of which fd is given, is what the caller's descriptor
 * names, and *known its process if that is one of ours (alive, the thread really
 * its). Negative errno. */
int descriptor_file(struct world *world, pid_t tid, struct process **known,
		    struct caller_file *file);
/* Once it is known whose the thread is: fills in the mark, and the next call is
 * faster. */
void descriptor_remember(struct process *process, pid_t tid, struct caller_file *file);
void descriptors_forget(const struct process *process);

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
int process_tracer(const struct process *process); /* host tid of the lead thread's; 0: none */

/* owner.c: has this process opened the file itself? */
bool process_owns(struct process *process, const struct caller_file *file);
off_t process_fd_mark(const struct process *process, int fd); /* -1: no such */
/* The open file is the context's from here on. */
int process_mark_fd(struct process *process, int fd, const struct process *context);
bool process_holds_mark(const struct process *process); /* has it a descriptor left? */

/* context.c: whose the descriptor is among a process's contexts. */
struct process *context_of(struct process *process, const struct caller_file *file);
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
/* *fault: what could not be accessed. */
int access_copy(const struct process *process, uint64_t dst, uint64_t src, uint64_t bytes,
		uint64_t *fault);
int access_fill(const struct process *process, uint64_t dst, uint64_t bytes, const void *pattern,
		size_t pattern_bytes, uint64_t *fault);
/* op: the L2's code of an atomic operation, as PM4 and SDMA packets carry it.
 * *old (may be NULL): the value before. -EBADMSG: no such operation. */
int access_atomic(struct process *process, uint64_t va, unsigned op, uint64_t source,
		  uint64_t compare, uint64_t *old);
/* From a byte position of the queue's ring on, round its end. */
int ring_read(const struct queue *queue, uint64_t at, void *to, uint64_t bytes);
/* The process's own memory, at its own addresses. */
int process_read(const struct process *process, uint64_t address, void *to, size_t n);
int process_write(const struct process *process, uint64_t address, const void *from, size_t n);

/* vm_access.c: does a call of process_vm_readv or process_vm_writev with these arguments
 * reach device memory? No lock is needed. */
bool vm_access_refused(const struct world *world, pid_t tid, const uint64_t *args);

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

#endif
