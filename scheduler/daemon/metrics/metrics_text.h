/* SPDX-License-Identifier: MIT */
/*
 * The metrics of the daemon and their text for Prometheus (text format 0.0.4).
 * docs/reference/metrics.md lists the names.
 *
 * Pure: no clock, no global state.
 *
 * Threads: any; the caller locks the data that it passes, if necessary.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_TEXT_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_TEXT_H

#include <stdio.h>

#include "channel/client_shm.h"
#include "kfd/gpu_name.h"
#include "scheduler/core/sched.h"

/* number of buckets of a histogram, without the last one, +Inf */
#define METRICS_BOUNDS 13u
#define METRICS_NODES GPU_NODES_MAX /* nodes with metrics of their own */
#define METRICS_LISTED 128u	    /* clients with metrics of their own */

enum metrics_latency {
	METRICS_DETECTION, /* from the cause of a suspend to the SUSPEND call */
	METRICS_SUSPEND,   /* duration of a suspend */
	METRICS_RESUME,	   /* duration of a resume */
	METRICS_HOLDOVER,  /* from the end of the cause of a suspend to the RESUME call */
	METRICS_LATENCIES
};

/* A histogram; its values only increase. */
struct metrics_histogram {
	uint64_t sum_ns;
	uint64_t counts[METRICS_BOUNDS + 1]; /* by bucket; each value counts in one bucket */
};

/* Counters of the whole daemon, of a node, or of a client. */
struct metrics_values {
	/* suspends, resumes: successful actions; failures: failed ones */
	uint64_t suspends, resumes, failures;
	uint64_t suspended_ns;	      /* total time that clients were suspended */
	uint64_t time_ns[CORE_TIMES]; /* total time of clients in each state */
	struct metrics_histogram latency[METRICS_LATENCIES];
};

struct metrics_node {
	uint32_t gpu_id;    /* 0: free entry */
	bool urgent;	    /* core_view_node() */
	uint32_t suspended; /* number of clients suspended now */
	uint64_t active_ns;
	struct metrics_values values;
};

/* Counters of the daemon and of nodes. The worker writes them; the watchdog keeps the memory for
 * the next worker. */
struct metrics_saved {
	struct metrics_values all;
	struct metrics_node nodes[METRICS_NODES];
};

struct metrics_client {
	int32_t pid;
	char comm[16];
	char level[16]; /* name of the level */
	int priority;	/* -1: none */
	bool suspended;
	struct metrics_values values;
	uint32_t node_count;
	struct {
		uint32_t gpu_id;
		bool active;
		uint64_t active_ns;
		uint64_t vram_bytes;
	} nodes[CLIENT_SHM_NODES];
};

struct metrics_snapshot {
	uint64_t uptime_ns;
	uint64_t worker_restarts;
	uint64_t refused_calls;
	uint64_t log_dropped, log_left_out; /* lines */
	/* clients: number of all clients; listed: number of those in list[] */
	uint32_t clients, listed;
	uint32_t node_count;
	struct metrics_values all;
	struct metrics_node nodes[METRICS_NODES];
	struct metrics_client list[METRICS_LISTED];
};

/* Adds a value in ns to a histogram. */
void metrics_histogram_add(struct metrics_histogram *histogram, uint64_t ns);

/* Writes the names of the GPUs. The caller then calls metrics_text(), which reports errors of
 * `out`. */
void metrics_gpus(const struct gpu_name *names, size_t n, FILE *out);
/* Writes the text of a snapshot of the metrics. Returns 0, or -EIO if writing to `out` failed. */
int metrics_text(const struct metrics_snapshot *snapshot, const char *version, FILE *out);

#endif
