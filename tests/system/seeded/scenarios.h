/* SPDX-License-Identifier: MIT */
/* What a run is about; what it draws at random stands in scenarios.c. */
#ifndef KFDSHIM_TESTS_SEEDED_SCENARIOS_H
#define KFDSHIM_TESTS_SEEDED_SCENARIOS_H

#include <stdint.h>

#include "tests/system/seeded/checks.h"
#include "tests/system/seeded/driver.h"

struct scenario {
	const char *name;
	unsigned online, offline; /* programs of each that there are at first, at most */
	const char *level;	  /* KFDSHIM_LEVEL of those that are offline */
	unsigned churn;		  /* one in so many of these makes and destroys queues; 0: none */
	/* at most so many, at random times */
	unsigned kills, execs, wishes, reloads, worker_kills, executor_kills, executor_stops;
	unsigned tenants;
	bool grants; /* at times uid 1001 may preempt uid 1002, and a rule is about that */
	struct driver_ways driver;
	struct check_bounds bounds;
};

extern const struct scenario scenarios[];
extern const unsigned scenario_count;

/* One run of a scenario, to its end; the time, and fibers, have begun. */
void scenario_run(const struct scenario *scenario);

#endif
