/* SPDX-License-Identifier: MIT */
/*
 * JSON that kfdreplay reads and writes (docs/reference/kfdreplay.md), and its report as text.
 *
 * Threads: any. An error ends the process with one sentence (fail(), rt.h).
 */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_JSON_H
#define KFDSHIM_TOOLS_KFDREPLAY_JSON_H

#include <stdbool.h>

#include "tools/kfdreplay/run.h"

/* The machine of the run: hardware, or a simulation by kfdsim. */
struct sim_info {
	bool simulated;
	double time_scale; /* model time / wall time; 1 on hardware */
};

/* Reads kfdsim's simulation.json at `path`. Without such a file the machine is taken as
 * hardware. */
void sim_info_read(const char *path, struct sim_info *out);

/* Everything that a report contains; not owned. */
struct replay_report {
	const char *trace; /* name of the trace */
	const char *api;   /* "hsa" or "hip" */
	const char *gpu_name;
	const struct sim_info *sim_info;
	const struct plan *plan;
	const struct run_options *options;
	const struct run_result *result;
	const struct stats_summary *latency;
};

#define REPORT_STDOUT "-"
/* Writes the report as JSON to a file, or to stdout (REPORT_STDOUT). */
void report_write_json(const struct replay_report *report, const char *path);
/* Prints the report as a few lines of text to stdout. */
void report_print(const struct replay_report *report);

#endif
