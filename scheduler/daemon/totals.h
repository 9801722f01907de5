/* SPDX-License-Identifier: MIT */
/* What has been counted since the daemon began, whichever worker did. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_TOTALS_H
#define KFDSHIM_SCHEDULER_DAEMON_TOTALS_H

#include <stdint.h>

#include "common/hist.h"

struct totals {
	uint64_t suspends, resumes, failures, looks;
	struct hist detection, holdover, suspend, resume; /* ns, wall */
	struct hist turn;				  /* ns, wall: the loop's, without sleep */
};

#endif
