/* SPDX-License-Identifier: MIT */
/*
 * What kfdreplay reads and writes as JSON: docs/formats.md.
 * Errors: a negative errno and one sentence in `why`.
 */
#ifndef KFDSHIM_REPLAY_JSON_H
#define KFDSHIM_REPLAY_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "replay/run.h"

struct world {
	bool simulated;
	double time_scale; /* 1 on hardware */
};

/* Reads kfdsim's simulation.json; where there is none, this is hardware. */
int world_read(const char *path, struct world *out, char *why, size_t why_size);

struct report {
	const char *trace;
	const char *api; /* "hsa", "hip" */
	const char *gpu_name;
	const struct world *world;
	const struct plan *plan;
	const struct run_options *options;
	const struct run_result *result;
	const struct stats_summary *latency;
};

#define REPORT_STDOUT "-"
/* To the file, or to stdout (REPORT_STDOUT). 0, or -EIO with a sentence in why. */
int report_write_json(const struct report *report, const char *path, char *why, size_t why_size);
/* A few lines for a person, to stdout. */
void report_print(const struct report *report);

#endif
