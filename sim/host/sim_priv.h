/* SPDX-License-Identifier: MIT */
/*
 * The simulated driver as a whole: struct sim (one simulation) and its nodes, and what all files
 * of it share. The headers of sim/driver build on this one: a KFD process and its calls in
 * process.h, queues in queue.h, runlist updates in runlist_update.h, memory in memory.h. Tasks are
 * the processes and threads under the simulator (sim.h).
 *
 * Threads: three, of which one at a time runs (sim->lock): the main loop (sim.c, engine.c), the
 * server of trapped calls (seccomp_server.c) and the copy thread for large copies (gpu_memory.c).
 * No other code here takes sim->lock. In virtual time one thread does everything. The writer of
 * simulation.json and debugfs (report.c) works on copies under a lock of its own.
 * process_lock() does what a process's mutex does in the kernel. sim->lock is not enough for that,
 * because a call that waits for the GPU is answered later, while other calls are served.
 *
 * Times: names end in _ns; wall time unless a comment states model time.
 */
#ifndef KFDSHIM_SIM_HOST_SIM_PRIV_H
#define KFDSHIM_SIM_HOST_SIM_PRIV_H

#include <jansson.h>
#include <pthread.h>
#include <sys/queue.h>

#include "common/histogram.h"
#include "kfd/uapi.h"
#include "sim/host/config.h"

struct call;
struct notif;
struct process;
struct queue;
struct seccomp_notif;
TAILQ_HEAD(call_list, call);

/* A range of the render file. */
struct extent {
	uint64_t offset, bytes;
};

/* One GPU node of the topology: a GPU, or a partition of it. */
struct node {
	struct sim *sim;
	uint32_t gpu_id;
	struct gpu *gpu;
	struct queue **by_gpu_queue;
	unsigned n_by_gpu_queue;
	unsigned active_queues; /* queues on the runlist, of all processes */
	uint8_t watches;	/* watchpoints in use: one bit for each id */
	/* process with the node's only VMID for debugging; NULL: none, or debugging per VMID */
	struct process *debug_vmid;
	/* ---- runlist_update.c, gpu_reset.c ---- */
	uint64_t updates;	  /* runlist updates begun */
	bool all_off;		  /* an update unmapped all queues and mapped none (unmap_only) */
	bool stuck_yet;		  /* --set preempt_stuck=queue has already stopped a queue */
	bool hung, resetting;	  /* hung: firmware does not answer; resetting: in a GPU reset */
	uint64_t firmware_due_ns; /* time when the driver gives up or the reset ends; 0: none */
	TAILQ_HEAD(runlist_update_list, runlist_update)
	stuck;	      /* updates that wait for firmware_due_ns */
	char *memory; /* mapping of the node's part of the render file */
	struct extent *holes;
	size_t n_holes, cap_holes;
	uint64_t heap_end;
	/* vram_used: bytes in use; vram_aligned: the same with each buffer rounded up to 2 MiB */
	uint64_t vram_used, vram_aligned;
	uint32_t resets; /* number of GPU resets, which SMI events report */
};

/* What the report contains about one kernel. */
struct kernel_record {
	char *name;
	uint64_t dispatches;
	bool executed;
};

/* What the report contains about one ioctl. */
struct ioctl_count {
	uint8_t type;
	uint32_t nr;
	uint64_t count;
};

#define STATS_RUNS 64u

/* Statistics since the simulation began. */
struct sim_stats {
	struct hist doorbell_delay, save, restore;
	/* State at the last writing of simulation.json (report.c): times of each node, and the
	 * run time of each process on each node; at most STATS_RUNS entries, further ones are
	 * left out. */
	struct gpu_times times[SIM_NODES_MAX];
	struct {
		pid_t pid;
		uint32_t node;
		struct gpu_client_run run;
	} runs[STATS_RUNS];
	uint32_t n_runs;
	bool more_runs;
	uint64_t updates, update_model_ns;
	uint64_t lost_ns; /* model time that could not be simulated and was dropped (engine.c) */
};

/* ---- virtual time: what the report contains (virtual.c) ---- */
#define VIRTUAL_NAMED 8 /* number of entries; the last one is for all further processes */
struct virtual_named {
	char command[16];
	uint64_t rounds;
};

struct virtual_counts {
	uint64_t rounds; /* main loop rounds with a proof that no thread could run */
	uint64_t busy;	 /* proofs that failed */
	uint64_t forced; /* rounds without such a proof, because a process ran too long */
	uint64_t outrun; /* rounds without a proof, to end a charge early (delay, time/page.h) */
	uint64_t wakes;	 /* threads and timers whose time had come */
	/* Number of waits for outside events, because no event was left in the simulation. */
	uint64_t waits;
	uint64_t proof_ns; /* real time that all successful proofs took */
	struct virtual_named spinners[VIRTUAL_NAMED]; /* processes for which rounds were forced */
	/* Processes that were stopped while time passed. */
	struct virtual_named stopped[VIRTUAL_NAMED];
	/* Number of single advances of time by more than 100 s. */
	uint64_t jumps;
	json_t *first_jumps; /* the first jumps, with the places where the threads waited */
	json_t *standstill;  /* where the threads waited in a deadlock; NULL: no deadlock */
	json_t *bypasses; /* programs that bypassed the clock (kernel_wait.c); NULL until the end */
};

/* A caller's fd and its open file. */
struct caller_file {
	int fd;
	dev_t device;
	ino_t inode;
	off_t mark; /* file position, which identifies the opener (file_owner.c); -1: not read */
};

/* A stored result of descriptor_file() */
struct known_file {
	struct process *process; /* NULL: entry not used */
	pid_t tid;
	int info; /* open /proc/PID/task/TID/fdinfo/FD of the fd */
	bool survives_exec;
	struct caller_file file;
	size_t n; /* length of `text`, the content of fdinfo when the result was stored */
	char text[128];
};
#define KNOWN_FILES 512u /* each entry keeps one fd open */

/* One simulation. */
struct sim {
	struct sim_config config;
	/* Virtual time (sim/host/virtual.c); NULL: the simulation runs in real time. */
	struct time_slots *time;
	struct timers *timers; /* virtual time only (sim/host/timers.h) */
	struct idle *idle;     /* virtual time only, until the loop has ended (sim/host/idle.h) */
	/* how often the simulated driver made a thread of a program runnable */
	uint64_t woken;
	pid_t init; /* first process of the simulation */
	struct virtual_counts virtual;
	uint64_t start_ns; /* wall time at model time 0 */

	dev_t kfd_dev;
	ino_t kfd_ino, render_ino;
	uint32_t nodes_n;
	struct node nodes[SIM_NODES_MAX];
	uint64_t gtt_used, system_used; /* bytes of GTT, and of GTT plus memory locked for GPUs */
	/* pages that the host could not supply when a GPU access touched them */
	uint64_t host_full;
	/* host_left: bytes free on the host at host_read_ns, less allocations since then */
	uint64_t host_left, host_read_ns;
	LIST_HEAD(, drm_file) drm_files;
	LIST_HEAD(, dmabuf) dmabufs;
	int drm_poll_fd; /* epoll of the drm_files' processes and of dmabuf_fd */
	int dmabuf_fd;	 /* inotify of the dmabufs */

	TAILQ_HEAD(, process) processes;
	STAILQ_HEAD(, process_record) records;
	uint64_t next_token;
	uint64_t *slots; /* bitmap of doorbell slots in use */
	struct {
		pid_t tid;
		struct process *process;
	} tids[1024];
	struct known_file files[KNOWN_FILES];

	pthread_mutex_t lock; /* protects everything in this struct */
	unsigned wanted;      /* threads that wait for `lock`, except the copy thread; atomic */
	int wake_fd;	      /* eventfd: wakes the main loop before sleeps_until_ns */
	uint64_t sleeps_until_ns;

	int listener;
	pthread_t server;
	bool server_stops;
	const struct call *serving; /* call whose handler is running; NULL: none */
	/* executed calls whose caller was interrupted before the reply */
	struct call_list undelivered;
	unsigned n_undelivered;
	int poll_fd; /* epoll of the processes' pidfds, drm_poll_fd and hang_hws */
	bool sync_wake;

	uint64_t model_ns;  /* model time up to which the GPUs are simulated */
	bool behind;	    /* the last iteration dropped model time (keep_up()) */
	uint64_t driven_ns; /* time of the last iteration (engine_run()) */
	uint64_t last_doorbell_ns;
	bool gpu_rang;		   /* a packet may have rung a doorbell since the last scan */
	uint64_t next_deadline_ns; /* earliest deadline of WAIT_EVENTS; UINT64_MAX: none */
	uint64_t next_pinned_ns;   /* earliest end of a pin (pin_begin()); UINT64_MAX: none */
	uint64_t next_check_ns;	   /* next check for processes that have called exec */
	unsigned n_destroyers;	   /* calls of DESTROY_QUEUE that sleep */
	unsigned n_waiting;	   /* queues that wait for a value in memory */

	/* ---- gpu_memory.c: background copies ---- */
	TAILQ_HEAD(, queue) copies; /* in progress, served in turn */
	TAILQ_HEAD(, queue) moved;  /* finished; their packets are not complete yet */
	/* time before which no copy is made in the calling thread, because such copies have used up
	 * their share (move_at_once()) */
	uint64_t move_paid_ns;
	pthread_cond_t move_begun;
	pthread_t copy_entry;
	bool copy_thread_stop;

	/* ---- for the report ---- */
	struct sim_stats totals;
	uint64_t fault_va;	/* address that the last failed GPU access could not reach */
	uint64_t plain_updates; /* signals that were updated without an atomic operation */
	struct kernel_record *kernels;
	size_t n_kernels, cap_kernels;
	uint64_t ioctls[KFDABI_NR_END];
	struct ioctl_count *unknown;
	size_t n_unknown, cap_unknown;
	struct stats_writer *live; /* state of report.c; NULL: its thread does not run */
	uint64_t live_ns;	   /* wall time at which statistics were last passed to report.c */
	uint64_t live_mark;	   /* value of mark() (report.c) at that time */
	uint64_t pid_namespace;
	struct procfs *procfs; /* sysfs_proc.c; NULL: no directory for it */
	LIST_HEAD(, smi_client) smi_clients;
	struct debugfs *debugfs; /* debugfs.c; NULL: no directory for it */
	struct hqd_dump *hqds;	 /* debugfs_hqd.c; NULL: no directory for it */
	uint64_t next_serial;	 /* serial number of the last queue */
};

/* Returns false if the simulation has to break this driver rule (kfdsim --break RULE). Breaking a
 * rule on purpose shows whether a test detects the wrong behaviour. */
static inline bool rule_holds(const struct sim *sim, enum kfdabi_rule rule)
{
	return sim->config.broken_rule != rule;
}

/* Returns @right, which the rule requires, or @wrong if the simulation has to break the rule. */
static inline int rule_errno(const struct sim *sim, enum kfdabi_rule rule, int right, int wrong)
{
	return rule_holds(sim, rule) ? right : wrong;
}

/* Returns true if the simulated kernel's driver has the rules that changed after Linux 6.12. */
static inline bool linux_7(const struct sim *sim)
{
	return sim->config.kernel >= KFDABI_LINUX_7_3;
}

/* Returns true if the driver must act as after Linux 6.12. @earlier and @later are the rules for
 * this behaviour before and after the change. If the simulation has to break one of them, the
 * result is the opposite of linux_7(). */
static inline bool like_linux_7(const struct sim *sim, enum kfdabi_rule earlier,
				enum kfdabi_rule later)
{
	return linux_7(sim) == (rule_holds(sim, earlier) && rule_holds(sim, later));
}

/* Takes sim->lock for any thread but the copy thread, and counts the waiter, because the copy
 * thread releases the lock early when another thread waits. */
static inline void sim_lock(struct sim *sim)
{
	__atomic_add_fetch(&sim->wanted, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&sim->lock);
	__atomic_sub_fetch(&sim->wanted, 1, __ATOMIC_RELAXED);
}

/* Receives and serves one call, without a lock (virtual time). A call must be pending: poll(2) on
 * the listener reports it. */
void notify_serve(struct sim *sim);
/* ---- seccomp_server.c: seccomp notifications ---- */
/* Starts a thread that waits in the kernel for trapped calls on @listener and serves each under
 * sim->lock. Returns 0 or a negative errno. */
int notify_start(struct sim *sim, int listener);
/* Ends the server thread. */
void notify_stop(struct sim *sim);
/* Answers the notification @id with @error (a negative errno). */
void notify_refuse(struct sim *sim, uint64_t id, int error);
/* Returns true if the caller of notification @id still waits for the answer. */
bool notify_alive(struct sim *sim, uint64_t id);

/* ---- time_calls.c: the calls of the time library ---- */
/* Serves and answers notification @n. Returns false if it is no call of the time library. */
bool time_serve(struct sim *sim, const struct seccomp_notif *n);

/* ---- chardev.c: the table of KFD ioctls ---- */
/* Returns the name of a KFD ioctl, or NULL for an unknown number. */
const char *ioctl_name(uint32_t nr);
/* Creates the call for a trapped KFD ioctl and executes it. It is answered now or later. */
void ioctl_kfd(struct sim *sim, struct process *process, const struct notif *notif);
/* Creates the call for a trapped ioctl on the render node of @node, executes and answers it. */
void ioctl_drm(struct sim *sim, uint32_t node, const struct notif *notif);

/* ---- engine.c: clocks ---- */
/* Converts model time to wall time, rounded up. */
uint64_t model_to_wall(const struct sim *sim, uint64_t model_ns);
/* Returns the GPU's 100 MHz counter at this wall time, rounded up. */
uint64_t gpu_ticks(uint64_t wall_ns);
/* Returns CLOCK_BOOTTIME as the tasks see it. */
uint64_t boot_clock_ns(const struct sim *sim);

/* ---- engine.c: the main loop's work ---- */
/* Makes one iteration in real time: scans the doorbells, advances the GPUs to the present, carries
 * out what their packets do, and handles time-outs and files. */
void engine_run(struct sim *sim);
/* Advances the GPUs before a call is served, so that nothing that the call causes begins before the
 * call was made. The main loop alone is not enough, because it polls an idle GPU rarely. */
void engine_catch_up(struct sim *sim);
/* In virtual time: handles everything that is due now. Returns false if a program's thread became
 * runnable, because the thread must run before anything else happens. */
bool engine_settle(struct sim *sim);
/* In virtual time: runs the GPUs and the clock until a program's thread becomes runnable or the
 * time is @until_ns. With @to_effect, also stops when a GPU has written to memory. Returns false if
 * @until_ns is UINT64_MAX and nothing is going to happen. */
bool engine_until(struct sim *sim, uint64_t until_ns, bool to_effect);
/* Returns true if a queue of the process @pid has packets that are not complete. */
bool engine_has_work(const struct sim *sim, pid_t pid);
/* Returns the wall time at which engine_run() has to run next; UINT64_MAX: not before a call or
 * another event. */
uint64_t engine_due(const struct sim *sim);
/* Reads the write pointers of the node's mapped queues after queues were mapped, because a queue
 * that was unmapped may have got packets for which no doorbell was seen. */
void engine_reread_wptr(struct node *node);

/* ---- drm_ioctl.c ---- */
/* Executes an ioctl on a render node. Returns 0 or more, or a negative errno. */
int drm_ioctl(struct call *call);

/* ---- report.c ---- */
/* Counts, for the report, a dispatch of the kernel with this index. */
void report_kernel(struct sim *sim, uint32_t kernel);
/* Returns the index of the kernel's record. If the name is new, adds a record. Returns UINT32_MAX
 * if there is no memory. @executed: the kernel's effects are carried out, not only its time. */
uint32_t report_kernel_index(struct sim *sim, const char *name, bool executed);
/* Counts, for the report, a call of an ioctl that is not simulated. */
void report_unknown(struct sim *sim, uint8_t type, uint32_t nr);
/* Completes the queue's record in the report when the queue is freed. */
void report_queue_gone(struct queue *queue);

/* ---- report.c: simulation.json ---- */
/* If config.sim_json_dirfd is -1, these functions do not write simulation.json. */

/* Starts the writer thread. The caller must not fork afterwards. Returns 0 or a negative errno. */
int live_start(struct sim *sim);
/* Ends the writer thread and writes the final state. */
void live_stop(struct sim *sim);
/* Writes simulation.json at once, without the writer thread. */
void live_write(struct sim *sim);
/* Passes the statistics to the writer thread if they have changed and at least 100 ms have passed
 * since it last did so. In virtual time writes the file itself. */
void live_update(struct sim *sim, uint64_t now_ns);
/* live_trylock() takes the writer thread's lock; it returns false if the thread has the lock now.
 * live_unlock() releases it and wakes the thread. The main loop uses them while it passes data to
 * the thread. */
bool live_trylock(struct sim *sim);
void live_unlock(struct sim *sim);
/* Returns the wall time at which live_update() has to be called next; UINT64_MAX: nothing has
 * changed. */
uint64_t live_due(const struct sim *sim);

/* Writes one line "kfdsim: ..." to stderr. */
void sim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- virtual.c: the main loop of a simulation in virtual time ---- */
/* Frees what the counts refer to, not the structure itself. */
void virtual_counts_free(struct virtual_counts *counts);

/* Runs until @stop_fd is readable or no task is left under the seccomp filter. Closes sim->idle.
 * Returns 0 or a negative errno. */
int virtual_loop(struct sim *sim, int stop_fd);

#endif
