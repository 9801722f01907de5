// SPDX-License-Identifier: MIT
#include "tools/kfdreplay/json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void sim_info_read(const char *path, struct sim_info *out)
{
	json_error_t error;
	json_t *json;

	*out = (struct sim_info){.time_scale = 1};
	if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	json = json_load_file(path, 0, &error);
	if (!json)
		fail(EXIT_FAILURE, "%s: %s", path, error.text);
	if (json_unpack(json, "{s:b, s:F}", "simulated", &out->simulated, "time_scale",
			&out->time_scale) ||
	    !(out->time_scale > 0))
		fail(EXIT_FAILURE, "%s: no time_scale above 0 in it", path);
	json_decref(json);
}

static double busy_ratio(const struct run_result *result)
{
	return result->seconds > 0 ? result->busy_ns / 1e9 / result->seconds : 0;
}

/* Returns the requested rate, or in a closed loop the rate that resulted. */
static double rate(const struct replay_report *report)
{
	const struct run_result *result = report->result;

	if (report->options->open_loop)
		return report->options->rate_per_s;
	return result->seconds > 0 ? (double)result->stats.count / result->seconds : 0;
}

static uint64_t backlog(const struct replay_report *report)
{
	const struct run_result *result = report->result;

	return report->options->open_loop ? result->arrived - result->stats.count : 0;
}

static json_t *latency_json(const struct stats_summary *l)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "mean", l->mean_us, "p50", l->p50_us,
			 "p90", l->p90_us, "p99", l->p99_us, "p999", l->p999_us, "max", l->max_us);
}

static json_t *count_json(const struct replay_report *report)
{
	const struct run_result *result = report->result;

	if (!report->options->count)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I}", "submitted", (json_int_t)result->count.submitted,
			 "executed", (json_int_t)result->count.executed, "twice",
			 (json_int_t)result->count.twice, "never", (json_int_t)result->count.never);
}

static json_t *report_json(const struct replay_report *report)
{
	const struct run_result *result = report->result;
	const struct run_options *options = report->options;

	return json_pack("{s:s, s:s, s:b, s:f, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o, "
			 "s:b, s:I, s:o}",
			 "trace", report->trace, "api", report->api, "simulated",
			 report->sim_info->simulated, "time_scale", report->sim_info->time_scale,
			 "agent", report->gpu_name, "mode", options->open_loop ? "open" : "closed",
			 "requests", (json_int_t)result->stats.count, "arrived",
			 (json_int_t)result->arrived, "steps", result->steps, "seconds",
			 result->seconds, "gpu_us_per_request", report->plan->mean_ns / 1e3,
			 "gpu_busy_ratio", busy_ratio(result), "rate_per_s", rate(report),
			 "latency_us", latency_json(report->latency), "keeps_up", result->keeps_up,
			 "backlog", (json_int_t)backlog(report), "count", count_json(report));
}

void report_write_json(const struct replay_report *report, const char *path)
{
	json_t *json = report_json(report);
	bool to_stdout = strcmp(path, REPORT_STDOUT) == 0;
	FILE *file = !json ? NULL : to_stdout ? stdout : fopen(path, "we");
	bool good = file && json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 &&
		    fputc('\n', file) != EOF;
	int error = errno;

	if (file && (to_stdout ? fflush(file) : fclose(file)) != 0 && good) {
		error = errno;
		good = false;
	}
	if (!good)
		fail(EXIT_FAILURE, "%s: cannot be written: %s", path,
		     json ? strerror(error) : "out of memory");
	json_decref(json);
}

void report_print(const struct replay_report *report)
{
	const struct run_result *result = report->result;
	const struct stats_summary *l = report->latency;

	printf("%s on %s", report->trace, report->gpu_name);
	if (report->sim_info->simulated)
		printf(" (simulated, time scale %g: all times are model time)",
		       report->sim_info->time_scale);
	printf("\n%zu requests in %.3f s, GPU busy %.1f %%", result->stats.count, result->seconds,
	       busy_ratio(result) * 100);
	if (report->options->open_loop)
		printf(", %.1f/s arriving, %" PRIu64 " arrived", report->options->rate_per_s,
		       result->arrived);
	printf("\n");
	if (!result->keeps_up)
		printf("does not keep up: %" PRIu64 " waiting at the end, so latencies depend on "
		       "the length of the run\n",
		       backlog(report));
	if (result->stats.count > 0)
		printf("latency P50 %.1f us, P90 %.1f us, P99 %.1f us, P99.9 %.1f us, "
		       "max %.1f us\n",
		       l->p50_us, l->p90_us, l->p99_us, l->p999_us, l->max_us);
	if (report->options->count)
		printf("workgroups: %" PRIu64 " submitted, %" PRIu64 " executed, %" PRIu64
		       " twice, %" PRIu64 " never\n",
		       result->count.submitted, result->count.executed, result->count.twice,
		       result->count.never);
}
