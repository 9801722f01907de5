/* SPDX-License-Identifier: MIT */
/*
 * Counters of the whole daemon since it started. They include those of earlier workers.
 *
 * Plain data. The worker's loop writes it; struct shared_state keeps a copy for the next worker.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_TOTALS_H
#define KFDSHIM_SCHEDULER_DAEMON_TOTALS_H

#include <stdint.h>

#include "common/histogram.h"

struct totals {
	uint64_t suspends, resumes, failures, scans; /* looks: scans of a client's shared memory */
	struct hist detection, holdover, suspend, resume; /* ns of wall time */
	/* ns of wall time of a loop iteration, without its sleep */
	struct hist iteration;
};

#endif
