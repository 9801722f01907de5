/* SPDX-License-Identifier: MIT */
/*
 * One sample of the machine for kfdsched top: nodes, processes, and the daemon's totals. A value
 * that is not known is TOP_UNKNOWN or an empty text, never 0.
 *
 * Pure: no I/O, no clock. Threads: starts none. Ownership: the caller zeroes a state once, can use
 * it for any number of samples (top_state_clear() keeps its memory), and ends it by
 * top_state_free(). Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_TOP_SNAPSHOT_H
#define KFDSHIM_CLI_TOP_SNAPSHOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/histogram.h"
#include "kfd/gpu_name.h"

#define TOP_UNKNOWN (-1)
#define TOP_WORD 16u /* bytes of a word such as a level or a state, with its NUL */
#define TOP_COMMAND_BYTES 256u
#define TOP_WHY 256u

struct top_node {
	uint32_t gpu_id;
	char name[24];	     /* name of the GPU in the driver's topology */
	struct gpu_name gpu; /* names for users; gpu.gpu_id 0: this machine has no such GPU */
	char policy[TOP_WORD];
	/* Total time for which a process had work here, in us; from the daemon. */
	int64_t work_us;
	int32_t compute_units; /* of the node */
	int32_t occupied;      /* compute units that hold waves now; from sysfs */
	/* Hardware slots for compute queues; if there are more queues, they take turns. */
	int32_t slots;
	int32_t queues;	   /* compute queues of all processes */
	int32_t suspended; /* suspended processes */
	/* 1: a process that preempts less urgent processes has work on this node. */
	int8_t urgent;
};

struct top_process {
	pid_t pid;	     /* in the pid namespace of the source, daemon or sysfs */
	pid_t inner_pid;     /* in the process's own pid namespace; 0: equal to pid, or not known */
	bool by_daemon;	     /* reported by the daemon; false: found in sysfs only */
	int8_t shim, active; /* shim 1: it runs with the shim; active 1: it has work */
	int priority;	     /* 0 to 15 */
	char level[TOP_WORD], role[TOP_WORD], state[TOP_WORD];
	char command[TOP_COMMAND_BYTES]; /* chosen by the process: hostile input */
	int32_t queues, compute_queues;
	/* From debugfs, for the compute queues: */
	int32_t mqds; /* number of MQDs */
	int32_t hqds; /* hardware slots (HQDs) in which the queues are active */
	/* HQDs of one mapped queue; TOP_UNKNOWN also if the queues have different numbers. */
	int32_t hqds_per_queue;
	char ratio[TOP_WORD]; /* MQDs and HQDs as text, see ratio_text() */
	int64_t vram_bytes;
	int64_t suspends, suspended_us; /* daemon: totals */
};

/* Totals of the daemon's worker since it began. */
struct top_totals {
	uint64_t suspends, resumes, failures;
	struct hist suspend;   /* duration of the driver's call, ns */
	struct hist detection; /* from the work that caused a suspend to the driver's call, ns */
};

struct top_state {
	uint64_t ns;	/* time of the sample, CLOCK_MONOTONIC */
	bool by_daemon; /* the daemon replied */
	bool elsewhere; /* the daemon's pids belong to another pid namespace than kfdsched's */
	pid_t daemon_pid, worker_pid;
	char policy[TOP_WORD];
	char why[TOP_WHY];	   /* sentence with the reason if there is no daemon; else empty */
	struct top_totals *totals; /* owned; NULL: no daemon */
	struct top_node *nodes;
	size_t node_count, node_room;
	struct top_process *processes;
	size_t process_count, process_room;
};

/* Add the entry of a GPU or a process, with all values unknown. Return the entry, which is valid
 * until the next one is added. */
struct top_node *top_state_node(struct top_state *state, uint32_t gpu_id);
struct top_process *top_state_process(struct top_state *state, pid_t pid);
/* Return the entry of this GPU or process, or NULL if there is none. */
struct top_node *top_find_node(const struct top_state *state, uint32_t gpu_id);
struct top_process *top_find_process(const struct top_state *state, pid_t pid);
/* Writes the short name of a GPU, such as "0", or "[GPU_ID]" if not known. Returns `text`. */
const char *top_gpu_text(char text[static GPU_NAME_SHORT], const struct top_state *state,
			 uint32_t gpu_id);
void top_state_clear(struct top_state *state); /* empties the state, keeps its memory */
void top_state_free(struct top_state *state);

/*
 * Adds the nodes, processes and totals of a reply of the daemon (kfdsched_summary()). Returns 0, or
 * -EPROTO if the reply has another format; a part of the reply may have been added then.
 */
int top_state_from_daemon(const json_t *status, struct top_state *state);

#endif
