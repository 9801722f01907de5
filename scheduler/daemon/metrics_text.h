/* SPDX-License-Identifier: MIT */
/*
 * The daemon's figures, and how they are written for Prometheus (its text format
 * 0.0.4). Pure: no clock, no global. docs/formats.md lists the names.
 *
 * Threads: none; the caller guards what it passes.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_TEXT_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "channel/lane.h"
#include "scheduler/core/core.h"

#define METRICS_BOUNDS 13u	    /* of a histogram's buckets, without the last, +Inf */
#define METRICS_NODES GPU_NODES_MAX /* that are told apart */
#define METRICS_LISTED 128u	    /* clients that are told by name */

enum metrics_latency {
	METRICS_DETECTION, /* from what caused a suspend to SUSPEND's entry */
	METRICS_SUSPEND,
	METRICS_RESUME,
	METRICS_HOLDOVER, /* from the end of what caused it to RESUME's entry */
	METRICS_LATENCIES
};

/* Counts only grow. */
struct metrics_histogram {
	uint64_t sum_ns;
	uint64_t counts[METRICS_BOUNDS + 1]; /* each value in one */
};

/* What is counted of the daemon as a whole, of a node, and of a client. */
struct metrics_figures {
	uint64_t suspends, resumes, failures;
	uint64_t suspended_ns;
	uint64_t time_ns[CORE_TIMES];
	struct metrics_histogram latency[METRICS_LATENCIES];
};

struct metrics_node {
	uint32_t gpu_id; /* 0: free */
	bool urgent;
	uint32_t suspended; /* clients */
	uint64_t active_ns;
	struct metrics_figures figures;
};

struct metrics_client {
	int32_t pid;
	char comm[16];
	char level[16]; /* one word */
	int priority;	/* -1: none */
	bool suspended;
	struct metrics_figures figures;
	uint32_t node_count;
	struct {
		uint32_t gpu_id;
		bool active;
		uint64_t active_ns;
		uint64_t vram_bytes;
	} nodes[LANE_NODES];
};

struct metrics_snapshot {
	uint64_t uptime_ns;
	uint64_t worker_restarts;
	uint64_t refused_calls;
	uint64_t log_dropped, log_left_out; /* lines */
	uint32_t clients, listed;	    /* all, and those in list[] */
	uint32_t node_count;
	struct metrics_figures all;
	struct metrics_node nodes[METRICS_NODES];
	struct metrics_client list[METRICS_LISTED];
};

void metrics_histogram_add(struct metrics_histogram *histogram, uint64_t ns);

/* 0, or a negative errno of writing. */
int metrics_text(const struct metrics_snapshot *snapshot, const char *version, FILE *out);

#endif
