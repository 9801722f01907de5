/* SPDX-License-Identifier: MIT */
/* The page that worker and watchdog share. Each field has one writer, and is
 * accessed with the __atomic builtins. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_BEAT_H
#define KFDSHIM_SCHEDULER_DAEMON_BEAT_H

#include <stdint.h>

#include "scheduler/daemon/kept.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/metrics.h"
#include "scheduler/daemon/reader.h"
#include "scheduler/daemon/totals.h"

struct beat {
	uint64_t started_ns; /* watchdog: when the daemon began */
	uint64_t restarts;   /* watchdog: workers after the first */
	uint64_t beat_ns;    /* worker's loop; the watchdog sets it at each start */
	uint32_t serving;    /* worker's loop: 1 once it runs */
	struct reader_state reader;
	struct kept kept;	     /* worker: for the next one */
	uint64_t refused_calls;	     /* filter.h: of all processes of the daemon */
	struct log_losses log;	     /* log.h: of them, too */
	struct metrics_kept metrics; /* worker: for the next one, too */
	struct totals totals;	     /* the same, once a second and at its end */
};

/* A page of its own for the process that accepts connections (greeter.h), which is trusted
 * less and has none of the above. */
struct door_beat {
	uint64_t beat_ns; /* its heartbeat; the watchdog sets it at each start */
	uint64_t refused; /* connections, by it and by the worker */
	uint64_t refused_calls;
	struct log_losses log;
};

#endif
