/* SPDX-License-Identifier: MIT */
/*
 * What a recording says of processes' queues: how many over time, which ids, what each of
 * them was set to and whether that changed, and in how many hardware slots (HQDs) one is.
 *
 * Pure, and in memory that its different queues take, however long the recording is.
 * Threads: one at a time. Ownership: zeroed to begin with, ended by analysis_free().
 */
#ifndef KFDSHIM_CLI_ANALYSIS_H
#define KFDSHIM_CLI_ANALYSIS_H

#include <jansson.h>
#include <stdio.h>

#include "scheduler/cli/recording.h"
#include "scheduler/cli/sampling.h"
#include "scheduler/kfd/topology.h"

#define ANALYSIS_POINTS 512u /* of the course of the count; neighbours are joined */
#define ANALYSIS_PROCESSES 4096u
#define ANALYSIS_NODES 256u
#define ANALYSIS_XCCS 16u /* that are told apart; by their numbers in the GPU */

struct analysed_queue {
	struct observe_queue last; /* each value as it was last known */
	uint32_t changed;	   /* 1 << enum observe_field: it had several values */
};

struct analysed_process {
	pid_t pid, host_pid;
	uint64_t started;
	char comm[RECORDED_COMM];
	double first_seconds, last_seconds;
	struct sampling sampling;
	struct analysed_queue *queue; /* by context, then id */
	size_t count, room;
};

/* The most that one sample had on a node, and what a queue there can have. */
struct analysed_node {
	uint32_t gpu_id;
	int64_t compute_slots, xccs;  /* -1: not known */
	size_t queues, compute;	      /* most in one sample; compute: of all processes together */
	uint64_t mqds, hqds;	      /* together, in the sample with the most HQDs */
	size_t in_xcc[ANALYSIS_XCCS]; /* compute queues in a slot of each XCC, in that sample */
	size_t mapped;		      /* queues that were in a slot, in that sample */
	bool hqds_known;
	uint64_t least, most; /* HQDs of a compute queue that was in a slot; 0: never one */
};

struct analysed_point {
	double from, to; /* seconds */
	size_t min, max; /* queues of all processes */
};

/* Before the command began, and after it ended. */
struct analysed_others {
	bool known;
	size_t processes, queues;
};

struct analysis {
	size_t samples;
	struct analysed_process *process; /* in the order in which they came */
	size_t count, room;
	size_t unkept; /* entries of more processes and nodes than are kept */
	struct analysed_node node[ANALYSIS_NODES];
	size_t nodes;
	struct topology_gpu gpu[TOPOLOGY_GPUS]; /* of the machine that was recorded */
	size_t gpus;
	struct analysed_point point[ANALYSIS_POINTS];
	size_t points;
	size_t per_point, in_point; /* samples that one stands for; that the last has */
	struct analysed_others before, after;
};

/* Slots and XCCs of the nodes, as the recording's first line has them. */
void analysis_nodes(struct analysis *analysis, const json_t *nodes);
/* 0 or -ENOMEM. */
int analysis_add(struct analysis *analysis, const struct recorded_sample *sample);
void analysis_free(struct analysis *analysis);

/* Of these a change says that somebody set the queue anew; the others move by themselves. */
bool analysis_is_setting(enum observe_field field);

/* The count over time as a few lines of characters. */
void analysis_chart(const struct analysis *analysis, FILE *out);
/* The same as a picture: self-contained SVG. */
void analysis_svg(const struct analysis *analysis, const char *title, FILE *out);
/* Plain words, a sentence each. NULL: no memory. */
json_t *analysis_conclusion(const struct analysis *analysis);
/* docs/formats.md, kfdsched analyze --json, without what is of the recording itself. */
json_t *analysis_json(const struct analysis *analysis);

#endif
