/* SPDX-License-Identifier: MIT */
/*
 * The scenarios: what happens in a run at most. scenarios.c draws the details at random.
 */
#ifndef KFDSHIM_TESTS_SEEDED_SCENARIOS_H
#define KFDSHIM_TESTS_SEEDED_SCENARIOS_H

#include <stdint.h>

#include "tests/system/seeded/checks.h"
#include "tests/system/seeded/driver.h"

/* One kind of run. */
struct scenario {
	const char *name;
	unsigned online, offline; /* maximum of programs of each kind at the start */
	const char *level;	  /* KFDSHIM_LEVEL of the offline programs */
	/* one in this number of offline programs creates and destroys queues; 0: none */
	unsigned churn;
	/* Maximum number of each event, at random times. */
	unsigned kills, execs, changes, reloads, worker_kills, executor_kills, executor_stops;
	unsigned tenants;
	/* sometimes uid 1001 has a grant to preempt uid 1002, and a rule concerns one of them */
	bool grants;
	struct driver_ways driver;
	struct check_bounds bounds;
};

extern const struct scenario scenarios[];
extern const unsigned scenario_count;

/* Plays one run of a scenario to its end, after fiber_begin(). */
void scenario_run(const struct scenario *scenario);

#endif
