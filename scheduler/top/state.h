/* SPDX-License-Identifier: MIT */
/*
 * What one look at the machine found, for kfdsched top: nodes, processes, and the daemon's
 * totals. What is not known is TOP_UNKNOWN, or an empty text, and never 0.
 *
 * Pure: no I/O, no clock. Threads: none. Ownership: a state begins as zeros, can be used
 * for look after look (top_state_clear() keeps its memory), and is ended by
 * top_state_free(). Errors: negative errno.
 */
#ifndef KFDSHIM_TOP_STATE_H
#define KFDSHIM_TOP_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/hist.h"

#define TOP_UNKNOWN (-1)
#define TOP_WORD 16u
#define TOP_COMMAND_BYTES 256u
#define TOP_WHY 256u

struct top_node {
	uint32_t gpu_id;
	char name[24]; /* of the GPU, as the driver has it */
	char policy[TOP_WORD];
	int64_t work_us; /* daemon: so long had a process work here; only grows */
	int32_t compute_units;
	int32_t occupied;  /* sysfs: compute units that hold waves now */
	int32_t slots;	   /* hardware queues for compute; more take turns */
	int32_t queues;	   /* compute queues of all processes */
	int32_t suspended; /* processes */
	int8_t urgent;	   /* 1: work of a process that others make way for */
};

struct top_process {
	pid_t pid;	 /* as its source numbers it */
	pid_t inner_pid; /* in its own pid namespace; 0: the same, or not known */
	bool by_daemon;	 /* the daemon tells of it */
	int8_t shim, active;
	int priority;
	char level[TOP_WORD], role[TOP_WORD], state[TOP_WORD];
	char command[TOP_COMMAND_BYTES]; /* as the process says: hostile */
	int32_t queues, compute_queues;
	/* debugfs, of its compute queues: */
	int32_t mqds;		/* descriptors */
	int32_t hqds;		/* hardware slots in which they are active */
	int32_t hqds_per_queue; /* of each that is in one; not known: they differ */
	char ratio[TOP_WORD];	/* that, as 'kfdsched verify' says it */
	int64_t vram_bytes;
	int64_t suspends, suspended_us;
};

struct top_totals {
	uint64_t suspends, resumes, failures;
	struct hist suspend;   /* how long the call took */
	struct hist detection; /* from the work that caused it to the call */
};

struct top_state {
	uint64_t ns; /* CLOCK_MONOTONIC */
	bool by_daemon;
	bool elsewhere; /* the daemon numbers processes otherwise than we do */
	pid_t daemon_pid, worker_pid;
	char policy[TOP_WORD];
	char why[TOP_WHY];	   /* one sentence: why there is no daemon; or empty */
	struct top_totals *totals; /* NULL: no daemon */
	struct top_node *nodes;
	size_t node_count, node_room;
	struct top_process *processes;
	size_t process_count, process_room;
};

/* A new one at the end, all unknown; valid until the next one. NULL: no memory. */
struct top_node *top_state_node(struct top_state *state, uint32_t gpu_id);
struct top_process *top_state_process(struct top_state *state, pid_t pid);
/* NULL: there is none. */
struct top_node *top_find_node(const struct top_state *state, uint32_t gpu_id);
struct top_process *top_find_process(const struct top_state *state, pid_t pid);
void top_state_clear(struct top_state *state);
void top_state_free(struct top_state *state);

/* Adds what the daemon answered (kfdsched_summary() or kfdsched_status()): nodes, processes, totals.
 * -EPROTO: it is no such answer. */
int top_state_from_daemon(const json_t *status, struct top_state *state);

#endif
