/* SPDX-License-Identifier: MIT */
/*
 * Interface of KFD processes (struct process: queues, memory, events, debugger interface) and of
 * calls (struct call: one trapped ioctl that is being served).
 *
 * Threads, locks and times: sim/host/sim_priv.h. Ownership: a process is reference counted; a call
 * belongs to its handler until it is answered. Errors: negative errno.
 */
#ifndef KFDSHIM_SIM_DRIVER_PROCESS_H
#define KFDSHIM_SIM_DRIVER_PROCESS_H

#include <limits.h>
#include <sys/stat.h>

#include "sim/host/sim_priv.h"

#define DOORBELL_PAGE 8192u
#define DOORBELLS_PER_PAGE (DOORBELL_PAGE / 8u)
/* limit of queues of one process on all GPUs, as in the driver */
#define QUEUE_IDS_MAX 1024u
/* limit of queues of one process on one node (queue_create.c) */
#define QUEUES_PER_PROCESS_NODE 255u
#define PAGE_BYTES 4096u
/* in place of a node's index, for accesses that do not come from a particular GPU */
#define NODE_ANY UINT32_MAX

static inline uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* Returned by an ioctl's handler that answers later by call_reply(), or waits for a mutex. */
#define CALL_PENDING INT_MIN

struct queue_record;
TAILQ_HEAD(queue_list, queue);

/* One trapped ioctl. Lives until call_reply() or call_drop(). */
struct call {
	struct sim *sim;
	struct process *process; /* process of the caller, referenced; NULL: render node */
	uint64_t id;		 /* seccomp notification id */
	pid_t tid;		 /* calling thread, in the PID namespace of kfdsim */
	uint8_t type;		 /* 'K' or 'd' */
	uint32_t nr;
	uint32_t user_size; /* size of the argument struct, from the caller's command word */
	uint64_t user_arg;  /* address of the argument struct in the caller */
	int fd;		    /* the caller's fd of the device */
	uint32_t node;	    /* index of the node, if `fd` is a render node */
	bool copy_back;
	bool begins_anew;	  /* can be repeated after an interruption (WAIT_EVENTS) */
	int result;		  /* answer; valid while in sim->undelivered */
	TAILQ_ENTRY(call) link;	  /* in process.blocked, or in sim->undelivered */
	_Alignas(16) char data[]; /* the argument struct; at least as long as the driver's own */
};

/* A KFD event. */
struct event {
	bool used, auto_reset, signaled;
	uint32_t type;
	uint64_t age;
};

/* Counter for the report: how often one thread called WAIT_EVENTS in one second and the wait was
 * over at once (events.c). A process has SPINS counters. */
#define SPINS 8u
struct spin {
	pid_t tid;
	uint64_t second;
	uint32_t n;
};

struct event_waiter; /* in events.c */
LIST_HEAD(waiter_list, event_waiter);

/* Data for the report at the end of the simulation about one process. Outlives the process. */
struct process_record {
	STAILQ_ENTRY(process_record) link;
	pid_t pid; /* in the PID namespace of the tasks */
	char comm[16];
	bool open_only;		 /* the process has no GPU memory, queue or event yet */
	uint64_t spinning_waits; /* see events.c */
	STAILQ_HEAD(, queue_record) queues;
};

/* One trapped ioctl as received. */
struct notif {
	uint64_t id; /* seccomp notification id */
	pid_t tid;
	uint32_t cmd;
	uint64_t arg;
	struct caller_file file;
};

/* A process's memory on one node. */
struct gpu_vm {
	struct drm_file *file;	/* NULL: ACQUIRE_VM has not been called */
	struct bo **bos;	/* indexed by the low half of the handle */
	size_t n_bos, bos_from; /* no index below bos_from is free */
};

/* The ranges of a process's memory that have SVM attributes (svm.c). */
struct svm {
	struct svm_range *ranges; /* sorted by start, disjoint */
	size_t n, cap;
};

/* One KFD process. Freed when the last reference is dropped. The process itself counts as one
 * reference until process_die(). */
struct process {
	TAILQ_ENTRY(process) link; /* in sim->processes while alive */
	struct sim *sim;
	struct process_record *record;
	struct procfs_dir *directory; /* sysfs_proc.c; NULL: no directory */
	uint32_t pasid;
	unsigned refs;
	pid_t pid;     /* thread group, in the PID namespace of kfdsim */
	pid_t *ns_pid; /* pids in the nested PID namespaces, in kfdsim's namespace first */
	unsigned ns_levels;
	ino_t ns_ino; /* inode of the process's PID namespace */
	int pidfd;
	int mem_fd; /* /proc/PID/mem; reads nothing once the address space is gone */
	/* file position that marks the fds that this process opened (file_owner.c) */
	uint64_t token;
	/* process to which this secondary context belongs; NULL: this is no secondary context */
	struct process *primary;
	unsigned contexts; /* number of the process's secondary contexts */
	uint32_t context;  /* number of this secondary context, the lowest free one */
	bool dead;	   /* address space gone; the struct is freed with its last reference */

	/* The kernel's process->mutex. `blocked` holds the calls that wait for the mutex. */
	bool locked;
	struct call_list blocked;
	/* the debugger died while `locked` was set: end the session at unlock */
	bool disable_later;
	/* call that pins memory (pin_begin()) and holds the mutex meanwhile, or NULL */
	struct call *pinning;
	uint64_t pinned_ns; /* wall time at which the pinning ends */

	uint64_t slot; /* index of its doorbell pages */
	volatile uint64_t *doorbells[SIM_NODES_MAX];
	struct gpu_vm vm[SIM_NODES_MAX];
	uint32_t acting; /* node whose GPU accesses memory now, or NODE_ANY */
	uint64_t vram[SIM_NODES_MAX], gtt;
	struct svm svm;
	int32_t xnack;

	struct event *events; /* indexed by id; 0 is never used */
	uint32_t cap_events;
	uint64_t event_page;	   /* handle of the buffer with the event slots; 0: none */
	struct pages *event_slots; /* the buffer's pages, referenced */
	uint32_t n_signal_events;
	struct waiter_list waiters;
	struct spin spins[SPINS];		    /* hashed by thread id */
	struct kfd_hsa_memory_exception_data fault; /* data of the last memory fault */
	struct kfd_hsa_hw_exception_data hw_exception;

	struct queue_list queues;
	uint64_t queue_ids[QUEUE_IDS_MAX / 64];
	/* run time of queues that no longer exist (model time) */
	struct gpu_client_run run[SIM_NODES_MAX];

	/* The driver's qpd->evicted: number of evictions in effect. While it is not 0, no queue of
	 * the process is mapped on that node (gpu_reset.c). */
	uint32_t evictions[SIM_NODES_MAX];
	const char *lost[SIM_NODES_MAX]; /* why the queues never run again; NULL: they can run */
	/* total time of past evictions; begin of the eviction in effect */
	uint64_t evicted_ns[SIM_NODES_MAX], evicted_since_ns[SIM_NODES_MAX];
	/* wall time at which an eviction for memory ends; 0: none */
	uint64_t restore_due_ns;
	/* mask of nodes on which the process had queues at a GPU or queue reset */
	uint64_t reset_nodes;
	bool saved_before; /* queue_update.c has written the save areas */

	/* ---- debugger interface ---- */
	uint32_t runtime_state; /* enum kfdabi_runtime_state */
	uint32_t ttmp_setup;
	uint64_t r_debug;
	bool session;		  /* kernel: debug_trap_enabled */
	struct process *debugger; /* referenced; may be set without a session */
	int debugged;		  /* kernel: debugged_process_count; may drop below 0 */
	int event_fd;		  /* copy of the debugger's dbg_fd; -1: none */
	uint64_t exceptions, exceptions_enabled;
	uint64_t device_exceptions[SIM_NODES_MAX];
	uint64_t violation[SIM_NODES_MAX]; /* address of the last memory violation on the node */
	uint8_t watches[SIM_NODES_MAX];	   /* watchpoints on the node: one bit for each id */
	uint32_t trap_mask, debug_flags;
	/* value of the semaphore that SEND_RUNTIME_EVENT counts up */
	unsigned runtime_posts;
	struct call_list runtime_sleepers; /* RUNTIME_ENABLE calls that wait for that semaphore */

	struct kernel_map *kernels; /* kernels.c */
	unsigned stops_logged;	    /* number of queues whose stop was logged */
};

/* ---- seccomp_server.c: operations of an ioctl's handler on its call ---- */
/* Answers the call with @result (0 or more, or a negative errno), copies its argument struct back
 * if the ioctl has output, and frees the call. Returns 0; -ENOENT if the caller no longer waits (a
 * signal interrupted it, or it is dead); another negative errno. */
int call_reply(struct call *call, int result);
/* Returns true if @again repeats a call of the same thread that was executed, but whose caller a
 * signal interrupted before the answer. @again then gets the earlier answer and is freed. */
bool call_replied_before(struct call *again);
/* Drops the answers that are kept for call_replied_before() for a process that has ended. */
void calls_forget(const struct process *process);
/* Drops all answers that are kept for call_replied_before(). */
void calls_forget_all(struct sim *sim);
/* Returns true if the caller still waits for the answer. */
bool call_alive(const struct call *call);
/* Frees the call without an answer, because the caller is gone. */
void call_drop(struct call *call);
/* Read and write the caller's memory. Return 0 or -EFAULT. */
int call_read(const struct call *call, uint64_t address, void *to, size_t n);
int call_write(const struct call *call, uint64_t address, const void *from, size_t n);
/* Fills in *@st for the caller's @fd, as fstat(2) does. Returns 0 or -EBADF. */
int call_stat(const struct call *call, int fd, struct stat *st);
/* Returns true if the caller has one of these capabilities (mask of 1 << CAP_...) in the
 * simulation's own user namespace. In file_owner.c. */
bool caller_capable(const struct call *call, uint64_t any_of);
/* Gives the caller a copy of kfdsim's @fd; @flags: 0 or O_CLOEXEC. Returns its number in the
 * caller, or a negative errno. */
int call_add_fd(const struct call *call, int fd, uint32_t flags);
/* Executes the call, or blocks it if its ioctl needs the process's mutex and the process is locked.
 * In chardev.c. */
void ioctl_execute(struct call *call);

/* ---- file_owner.c: finds the file behind a caller's fd ---- */
/* Fills in *@file for the caller's fd file->fd. Sets *@known to the KFD process of the thread, or
 * to NULL if the thread has none or its address space has ended. Returns 0 or a negative errno. */
int descriptor_file(struct sim *sim, pid_t tid, struct process **known, struct caller_file *file);
/* Stores what descriptor_file() has found, for the next call on this fd, and fills in file->mark
 * (the file position). Called once the process of the thread is known. */
void descriptor_remember(struct process *process, pid_t tid, struct caller_file *file);
/* Drops all entries of descriptor_remember() for a process that has ended. */
void descriptors_forget(const struct process *process);

/* ---- process_life.c: life of a process ---- */
/* Returns the process that is stored for this thread, or NULL. */
struct process *process_of_thread(struct sim *sim, pid_t tid);
/* Forgets which process this thread belongs to. */
void process_forget_thread(struct sim *sim, pid_t tid);
/* Returns the KFD process of the thread, and creates it if it does not exist. Returns NULL if the
 * thread is gone, or no memory or doorbell slot is left. */
struct process *process_new(struct sim *sim, pid_t tid);
/* Returns false if the address space is gone, by exit or exec. */
bool process_mm_alive(const struct process *process);
void process_ref(struct process *process);
void process_unref(struct process *process);
/* Ends the process, because its address space is gone: its queues are unmapped and freed, and its
 * sessions, events and memory released. Drops the process's own reference. */
void process_die(struct process *process);
/* Handles what sim->poll_fd reports: ends processes that have exited, frees files of render nodes,
 * and serves writes to hang_hws. */
void process_reap(struct sim *sim);
/* Returns false if the process is a zombie or gone. */
bool process_pid_alive(const struct process *process);
/* Returns true if the process has an fd of the device open. */
bool process_holds_kfd(const struct process *process);
/* Ends all processes whose address space is gone, and secondary contexts without an open fd. */
void process_check_all(struct sim *sim);
/* Takes the process's mutex and a reference to the process, which process_unlock() drops. Must not
 * be called on a locked process. */
void process_lock(struct process *process);
/* Releases the mutex, and executes the blocked calls until one of them locks the process again. */
void process_unlock(struct process *process);
/* Keeps the call until process_unlock() executes it. */
void process_block(struct process *process, struct call *call);
/* Returns the process with a thread that has the id @pid in the caller's PID namespace, or NULL. */
struct process *process_by_ns_pid(struct process *caller, pid_t pid);
/* Creates the KFD process of the process @pid (in the caller's PID namespace) that the thread
 * @tracer traces. Returns NULL if @tracer traces no process with this id. */
struct process *process_new_traced(struct process *caller, pid_t pid, pid_t tracer);
/* Returns the thread that traces the process's lead thread (PID namespace of kfdsim), or 0. */
int process_tracer(const struct process *process);

/* ---- file_owner.c: which process has opened a file ---- */
/* Returns true if this process has opened the file itself. */
bool process_owns(struct process *process, const struct caller_file *file);
/* Sets or reads the position of the process's @fd, as lseek(2) does. The position is the token of
 * the process or context that opened the file. Returns -1 if there is no such fd. */
off_t process_seek_fd(const struct process *process, int fd, off_t offset, int whence);
/* Returns true if the process or context still has an fd of the device that it has opened
 * itself. */
bool process_holds_mark(const struct process *process);

/* Secondary contexts (CREATE_PROCESS of Linux 7): the open file on which the ioctl is called
 * becomes a KFD process of its own, with its own queues, ids, doorbells and events in the same
 * address space. Only the primary one can debug and be debugged. A context ends when its last fd is
 * closed, or with its process. */
/* Returns the process or its secondary context, whichever opened the file. */
struct process *context_of(struct process *process, const struct caller_file *file);
/* CREATE_PROCESS: makes the open file a secondary context. Returns 0 or a negative errno. */
int ioctl_create_process(struct call *call);
/* If @tid belongs to a vfork() child that still runs in its parent's memory, returns the parent's
 * pid; otherwise 0. In file_owner.c. */
pid_t process_lender(pid_t tid);

/* ---- gpu_memory.c: accesses of the GPU, at GPU addresses ---- */
/* The accessing GPU is the one of node process->acting. Except for access_direct() these functions
 * return 0 or -EFAULT; then sim->fault_va is the address that could not be reached. */

/* Returns a pointer to the memory at GPU address @va, or NULL if [va, va + bytes) is not in one
 * buffer that kfdsim has mapped. */
void *access_direct(const struct process *process, uint64_t va, uint64_t bytes);
int access_read(const struct process *process, uint64_t va, void *to, size_t n);
int access_write(const struct process *process, uint64_t va, const void *from, size_t n);
/* Adds to a value of 4 or 8 bytes; the addition is atomic if kfdsim has the buffer mapped. */
int access_add(struct process *process, uint64_t va, uint64_t value, size_t bytes);
/* Executes an atomic operation of the L2; @op: its code as in PM4 and SDMA packets. *@old (if not
 * NULL) receives the value before the operation. Returns 0; -EBADMSG: unknown operation;
 * -EFAULT. */
int access_atomic(struct process *process, uint64_t va, unsigned op, uint64_t source,
		  uint64_t compare, uint64_t *old);
/* Reads @bytes from byte position @at of the queue's ring, which wraps. Returns 0 or -EFAULT. */
int ring_read(const struct queue *queue, uint64_t at, void *to, uint64_t bytes);
/* Reads or writes the memory of a process or thread at its own addresses. Returns 0 or -EFAULT. */
int task_memory(pid_t pid, uint64_t address, void *local, size_t n, bool write);

/* ---- events.c: events and waiting for them ---- */
/* CREATE_EVENT: creates an event. The first event with a slot also sets the page that contains the
 * slots. Returns 0; -ENOSPC: no id is free; -EINVAL, -ENODEV: bad page; -ENOMEM. */
int ioctl_create_event(struct call *call);
/* DESTROY_EVENT: destroys an event. A WAIT_EVENTS that waits for it ends with the result
 * KFD_IOC_WAIT_RESULT_FAIL. Returns 0, or -EINVAL for an unknown event. */
int ioctl_destroy_event(struct call *call);
/* SET_EVENT, RESET_EVENT: set or reset an event. Return 0; -EINVAL: unknown, or no signal event. */
int ioctl_set_event(struct call *call);
int ioctl_reset_event(struct call *call);
/* WAIT_EVENTS: waits for one or all of the events. Returns CALL_PENDING, even if the wait is over
 * at once. -EINVAL: unknown event. -EFAULT: bad array. -ENOMEM: no memory, or too many events. */
int ioctl_wait_events(struct call *call);
/* Sets an event; an unknown @id is ignored. */
void event_fire(struct process *process, uint32_t id);
/* Handles an interrupt of a queue. If the process has no page of event slots, or the GPU has
 * written the slot of event @context_id, sets this event. Otherwise sets every event whose slot the
 * GPU has written. */
void event_interrupt(struct process *process, uint32_t context_id);
/* Sets all memory events of the process, with the data of this fault. */
void event_memory_fault(struct process *process, uint32_t gpu_id, uint64_t va);
/* Sets all HW-exception events of the process, after a GPU or queue reset. */
void event_hw_exception(struct process *process, uint32_t gpu_id);
/* Ends the waits whose deadline is at or before @now_ns. */
void events_expire(struct sim *sim, uint64_t now_ns);
/* Drops all events and waits of a process that has ended. */
void events_release(struct process *process);

/* ---- debug.c, debug_events.c, runtime_enable.c: debug sessions and exceptions ---- */
/* DBG_TRAP: checks the caller and the target, and executes the operation (debug.h). Returns the
 * operation's result.
 * -EOPNOTSUPP: called in a secondary context. -ESRCH: no such target.
 * -EPERM: the caller is not allowed to, or the target's runtime is not enabled.
 * -EINVAL: no session, or unknown operation. */
int ioctl_dbg_trap(struct call *call);
/* RUNTIME_ENABLE: enables or disables the runtime. In a debug session the call sleeps until the
 * debugger has answered. Returns 0 or CALL_PENDING; -EBUSY: enabled already; -EEXIST: the process
 * has a queue; -ENOMEM. */
int ioctl_runtime_enable(struct call *call);
/* Raises exceptions (mask) of a queue or, with @queue NULL, of the process. Does nothing without a
 * debug session. Returns true if the debugger has enabled one of them. */
bool debug_raise(struct process *process, struct queue *queue, uint64_t mask);
/* Raises "queue deleted" for a GPU. */
void debug_queue_deleted(struct process *process, uint32_t node);
/* Raises the exception "memory violation". Returns true if the debugger has enabled it, in which
 * case the process itself must not be notified. */
bool debug_memory_violation(struct process *process, uint32_t node, uint64_t va);
/* Returns true if the firmware lets a process use GWS (global wave sync) and be debugged. */
bool debug_with_gws(const struct sim *sim);
/* Ends the process's debug session at a detach of the debugger or a close of /dev/kfd, if --break
 * breaks the rule that the session continues. The driver itself detects neither of these events. */
void debug_check(struct process *process);
/* Ends the target's session because its debugger has died: resumes its queues and detaches. If the
 * target is locked, this happens when it is unlocked. */
void debug_session_end(struct process *target);
/* Ends the debug session of a process that has ended, and the sessions in which it was the
 * debugger. */
void debug_process_died(struct process *process);
/* Wakes a RUNTIME_ENABLE call that waits for the debugger's answer. If no call waits, counts up the
 * semaphore, so that the next RUNTIME_ENABLE does not sleep. */
void runtime_post(struct process *process);

#endif
