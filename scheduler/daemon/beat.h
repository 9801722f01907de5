/* SPDX-License-Identifier: MIT */
/*
 * Two pages of shared memory, each with a heartbeat: struct shared_state of the watchdog and the worker,
 * and struct admission_state of the watchdog and the process that accepts connections
 * (kfdschedd-door).
 *
 * The watchdog maps both before its first fork and keeps them, so that their content survives
 * each worker. Each field has the one writer that is named with it, except the counters, which
 * several processes increment atomically. A word that one process writes while another process
 * may read it is accessed with the __atomic builtins.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_BEAT_H
#define KFDSHIM_SCHEDULER_DAEMON_BEAT_H

#include <stdint.h>

#include "common/histogram.h"
#include "scheduler/daemon/clients/saved_state.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/metrics/metrics_text.h"
#include "scheduler/daemon/reader/reader.h"

/* Counters of the whole daemon since it started; they include those of earlier workers. The worker's
 * loop writes them. */
struct totals {
	uint64_t suspends, resumes, failures, scans;	  /* scans of shared memory */
	struct hist detection, holdover, suspend, resume; /* ns of wall time */
	/* ns of wall time of a loop iteration, without its sleep */
	struct hist iteration;
};

struct shared_state {
	uint64_t started_ns; /* watchdog: when the daemon started, CLOCK_MONOTONIC ns */
	uint64_t restarts;   /* watchdog: number of workers started after the first */
	/* heartbeat of the worker's loop, ns; set by the watchdog at each start */
	uint64_t heartbeat_ns;
	/* worker: 1 once its loop runs; set to 0 by the watchdog at each start */
	uint32_t serving;
	struct reader_state reader;
	struct saved_state saved; /* worker: control requests, saved for the next worker */
	/* refused system calls (privileges.h), of all processes without a counter of their
	 * own */
	uint64_t refused_calls;
	/* log lines lost (log.h), of all processes without a counter of their own */
	struct log_losses log;
	struct metrics_saved metrics; /* worker: metrics, which the next worker continues */
	/* worker: totals, which the next worker continues; stored once a second and at its end */
	struct totals totals;
};

/* The page of the process that accepts connections (greeter.h). It is separate from struct shared_state
 * because that process reads untrusted input: it is trusted less, and cannot write struct shared_state. */
struct admission_state {
	uint64_t heartbeat_ns;	/* its heartbeat, ns; set by the watchdog at each start */
	uint64_t refused;	/* connections refused, by this process and by the worker */
	uint64_t refused_calls; /* of this process (privileges.h) */
	struct log_losses log;	/* of this process */
};

#endif
