/* SPDX-License-Identifier: MIT */
/*
 * The world and its nodes, and all that the files of sim/kfd share: a KFD process
 * and its calls (process.h), queues (queue.h), changes of what is mapped (bounce.h).
 *
 * Threads: three, one at a time (world->lock): the loop, the server of calls
 * (notify.c), the mover of many bytes (move.c). Nothing else here locks; what the
 * kernel guards with a process's mutex is kept apart by process_lock(), because a
 * call that waits for the GPU is answered later, while others are served.
 *
 * Times: names end in _ns; wall time unless they say model.
 */
#ifndef KFDSHIM_SIM_KFD_KFD_H
#define KFDSHIM_SIM_KFD_KFD_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"
#include "common/hist.h"
#include "sim/gpu/gpu.h"
#include "sim/host/virtual.h"
#include "sim/kfd/bounce.h"
#include "sim/kfd/memory.h"
#include "sim/kfd/process.h"
#include "sim/kfd/queue.h"
#include "sim/kfd/world.h"

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
	bool stuck_yet;		  /* a switch: a queue has not come off once */
	bool hung, resetting;	  /* the firmware does not answer; a reset is under way */
	uint64_t firmware_due_ns; /* wall: the driver gives up, or the reset is over; 0: no */
	struct bounce_list stuck; /* wait for that */
	char *memory;		  /* its part of the render file */
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

#define FIGURES_RUNS 64u

/* Cumulative since the world began. */
struct figures {
	struct hist doorbell_delay, save, restore;
	/* As of the last writing (live.c): of each node, and of processes of which work has run
	 * there; more_runs: there is no room for all. */
	struct gpu_times times[WORLD_NODES_MAX];
	struct {
		pid_t pid;
		uint32_t node;
		uint64_t ns;
	} runs[FIGURES_RUNS];
	uint32_t n_runs;
	bool more_runs;
	uint64_t bounces, bounce_model_ns;
	uint64_t lost_ns; /* model time that could not be simulated (drive.c) */
};

struct world {
	struct world_config config;
	/* Virtual time (sim/host/virtual.h); NULL: this world runs in real time. */
	struct time_slots *time;
	struct timers *timers; /* the same (sim/host/timers.h) */
	struct idle *idle;     /* the same (sim/host/idle.h), until its loop has ended */
	uint64_t woken;	       /* threads of the world that the driver has made run again */
	pid_t init;	       /* the world's first process */
	struct virtual_counts virtual;
	char *profile;
	uint64_t start_ns; /* wall; model time 0 */

	dev_t kfd_dev;
	ino_t kfd_ino, render_ino;
	uint32_t nodes_n;
	struct node nodes[WORLD_NODES_MAX];
	uint64_t gtt_used, system_used; /* GTT; that and what is locked for the GPUs */
	uint64_t host_full; /* pages that the host could not give when the GPU touched them */
	uint64_t host_left, host_asked_ns; /* bytes it had then, less what was allocated since */
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
	struct known_file files[KNOWN_FILES];

	pthread_mutex_t lock; /* of everything here: three threads */
	unsigned wanted;      /* how many of them wait for it, the mover aside; atomic */
	int wake_fd;	      /* eventfd: what the loop sleeps for has changed */
	uint64_t sleeps_until_ns;

	int listener;
	pthread_t server;
	bool server_stops;
	const struct call *serving; /* the call whose handler is running */
	struct call_list unheard;   /* carried out, but a signal took the caller out of it */
	unsigned n_unheard;
	int poll_fd; /* epoll of the processes' pidfds */
	bool sync_wake;

	uint64_t model_ns;  /* up to which the GPUs are simulated */
	bool behind;	    /* the last turn has lost time */
	uint64_t driven_ns; /* wall: when the GPU was last brought up to date */
	uint64_t last_doorbell_ns;
	bool gpu_rang; /* a packet has reached doorbells, which were not looked at since */
	uint64_t next_deadline_ns; /* of WAIT_EVENTS; UINT64_MAX: none */
	uint64_t next_pinned_ns;   /* of pin.c; UINT64_MAX: none */
	uint64_t next_check_ns;	   /* look for processes that exec'ed */
	unsigned n_destroyers;	   /* calls of DESTROY_QUEUE that sleep */
	unsigned n_waiting;	   /* queues that stand on a value in memory */

	/* move.c */
	TAILQ_HEAD(, queue) moves; /* under way, in turn */
	TAILQ_HEAD(, queue) moved; /* over, and their packets not yet complete */
	uint64_t move_paid_ns;	   /* till then, what was moved at once has had its share of time */
	pthread_cond_t move_begun;
	pthread_t mover;
	bool moves_stop;

	/* For the report. */
	struct figures figures;
	uint64_t fault_va;	/* what the last access of a GPU that failed could not reach */
	uint64_t plain_updates; /* signals that had to be updated without an atomic */
	struct kernel_record *kernels;
	size_t n_kernels, cap_kernels;
	uint64_t ioctls[KFDABI_NR_END];
	struct ioctl_count *unknown;
	size_t n_unknown, cap_unknown;
	struct live *live;  /* live.c; NULL while it does not run */
	uint64_t live_ns;   /* when the figures were last given to it */
	uint64_t live_mark; /* what had happened by then */
	uint64_t pid_namespace;
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

/* For those whom the mover gives way to. */
static inline void world_lock(struct world *world)
{
	__atomic_add_fetch(&world->wanted, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&world->lock);
	__atomic_sub_fetch(&world->wanted, 1, __ATOMIC_RELAXED);
}

/* Receives and serves one call; there must be one, as poll(2) of the listener shows. */
void notify_serve(struct world *world);
/* notify.c: the conversation with seccomp. A thread of its own waits in the
 * kernel for calls and serves each under world->lock. */
int notify_start(struct world *world, int listener);
void notify_stop(struct world *world);
void notify_refuse(struct world *world, uint64_t id, int error);
bool notify_alive(struct world *world, uint64_t id);

/* ioctl.c: the table of KFD ioctls. */
const char *ioctl_name(uint32_t nr);
/* Makes the call and runs it. */
void ioctl_kfd(struct world *world, struct process *process, const struct trapped *trapped);
/* The same for a render node: which it is. */
void ioctl_drm(struct world *world, uint32_t node, const struct trapped *trapped);

/* clock.c */
uint64_t model_now(const struct world *world, uint64_t wall_ns);
uint64_t model_to_wall(const struct world *world, uint64_t model_ns);
uint64_t gpu_ticks(uint64_t wall_ns);		   /* the 100 MHz counter */
uint64_t boot_clock_ns(const struct world *world); /* CLOCK_BOOTTIME of the world */
int ioctl_clock_counters(struct call *call);

/* drive.c */
void drive(struct world *world); /* doorbells, GPU, effects, timeouts */
/* Before a call: the GPU's time is the caller's, so that nothing which the call asks
 * for begins before it was asked for. A quiet GPU is looked at seldom. */
void drive_catch_up(struct world *world);
/* In virtual time: lets all happen that is due now. False: a thread of the world was woken, which
 * runs before the rest happens. */
bool drive_settle(struct world *world);
/* In virtual time: lets the GPUs run, and the clock go on, until a thread of the world is woken or
 * the time is @until_ns; if @to_effect, at the longest until a GPU has written to memory. False:
 * @until_ns is UINT64_MAX, and nothing is going to happen. */
bool drive_until(struct world *world, uint64_t until_ns, bool to_effect);
/* Does a queue of the process @pid have packets that are not completed? */
bool drive_has_work(const struct world *world, pid_t pid);
uint64_t drive_due(const struct world *world); /* wall; UINT64_MAX: something is reported before */
void drive_fetch(struct queue *queue);
void drive_reread_wptr(struct node *node); /* after a map: work without a doorbell */
/* The last access failed: the queue stops, the process gets a memory fault, and unless a debugger
 * takes that, the driver evicts its queues on this node. */
void drive_fault(struct queue *queue);
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
