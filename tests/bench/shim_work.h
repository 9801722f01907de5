/* SPDX-License-Identifier: MIT */
/*
 * The measurements of one process of `bench_shim` (shim_work.c), and the structs in which it writes
 * them to stdout.
 */
#ifndef KFDSHIM_TESTS_BENCH_SHIM_WORK_H
#define KFDSHIM_TESTS_BENCH_SHIM_WORK_H

#include <stdint.h>

#define IDLES 60u	 /* ends of work that are measured */
#define BATCHES 40u	 /* batches of dispatches that are measured */
#define BATCH 256u	 /* dispatches in a batch */
#define SILENT_N 100000u /* doorbells whose system calls are counted */

/* The duration of hsa_init() and of the creation of the first queue. */
struct shim_start {
	double ms;
	double cpu_ms; /* CPU time of the calling thread */
};

/* The results of one process. In a process without the agent the agent's values are 0. */
struct shim_round {
	double memory_kib, threads; /* with 16 queues whose work is pending, possibly on hold */
	/* the shortest of many batches, for one doorbell */
	double doorbell_ns;
	double dispatch_ns[BATCHES]; /* of each batch, for one dispatch */
	double system_calls;	     /* number in SILENT_N doorbells */
	double idle_us[IDLES];	     /* from before the wait until the node is idle */
	double idles_early;	     /* ends found by the sampler before the wait; not in idle_us */
	double bare_us[IDLES]; /* wakes of a sleeping thread, measured alternately with idle_us */
	/* The agent's thread, in % of a core and in wakes per second: beside 16 queues without work
	 * (quiet), beside 16 queues of which all but the runtime's own have work (busy), and
	 * without a queue (none). */
	double quiet_share, busy_share, none_share;
	double quiet_wakes, busy_wakes, none_wakes;
	/* The share, in % of a core, of a thread that wakes as often as the agent's thread and does
	 * nothing: as often as beside quiet queues, and as beside busy queues. */
	double bare_quiet_share, bare_busy_share;
};

/* The functions that callgrind counts, by name; each repeats its operation. COUNTED_N: number of
 * counted doorbells. */
#define COUNTED_DOORBELLS "counted_doorbells"
#define COUNTED_DISPATCHES "counted_dispatches"
#define COUNTED_N 1000u

#endif
