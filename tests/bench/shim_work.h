/* SPDX-License-Identifier: MIT */
/* What one process of `bench_shim` measures (shim_work.c), and how it says it. */
#ifndef KFDSHIM_TESTS_BENCH_SHIM_WORK_H
#define KFDSHIM_TESTS_BENCH_SHIM_WORK_H

#include <stdint.h>

#define IDLES 60u	 /* ends of work that are timed */
#define BATCHES 40u	 /* of dispatches that are timed */
#define BATCH 256u	 /* dispatches in one */
#define SILENT_N 100000u /* doorbells whose system calls are counted */

/* hsa_init and the first queue. */
struct shim_start {
	double ms;
	double cpu_ms; /* CPU time of the calling thread in it */
};

/* A process's findings, on stdout. Without an agent what is its is 0. */
struct shim_round {
	double memory_kib, threads; /* with 16 queues that stand, perhaps held */
	double doorbell_ns;
	double dispatch_ns[BATCHES]; /* of each batch, for one dispatch */
	double system_calls;	     /* of SILENT_N doorbells */
	double idle_us[IDLES];	     /* from before the wait to idleness */
	double idles_early;	     /* found before the wait, by the sampler: none of these */
	double bare_us[IDLES];	     /* wakes of a thread that sleeps, in turns with those */
	/* Of the agent's thread, % of a core and wakes a second: 16 queues without work,
	 * 16 of which all but the runtime's own have some, no queue */
	double quiet_share, busy_share, none_share;
	double quiet_wakes, busy_wakes, none_wakes;
	/* % of a core of a thread that wakes so often and does nothing: as the agent's beside
	 * quiet queues, and beside busy ones */
	double bare_quiet_share, bare_busy_share;
};

/* The functions that callgrind counts, by name; `n` times, one after another. */
#define COUNTED_DOORBELLS "counted_doorbells"
#define COUNTED_DISPATCHES "counted_dispatches"
#define COUNTED_N 1000u

#endif
