// SPDX-License-Identifier: MIT
#include "scheduler/cli/result.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "scheduler/cli/field.h"
#include "scheduler/cli/result_possible.h"
#include "scheduler/cli/table.h"

/* The share of the online P50 that the instrument itself may cost. */
#define DOORBELL_SHARE 0.05
#define HOST_SHARE 2.0 /* the P50 alone against what GPU time and queueing explain */

const char *const arm_names[ARM_COUNT] = {"alone", "shared", "trap"};

int result_online(const json_t *replay, struct online_figures *out)
{
	const json_t *latency = json_object_get(replay, "latency_us");
	const json_t *requests = json_object_get(replay, "requests");
	const json_t *keeps_up = json_object_get(replay, "keeps_up");

	*out = (struct online_figures){
		.p50_us = field_number(latency, "p50"),
		.p90_us = field_number(latency, "p90"),
		.p99_us = field_number(latency, "p99"),
		.p999_us = field_number(latency, "p999"),
		.requests = json_integer_value(requests),
		.gpu_busy_ratio = field_number(replay, "gpu_busy_ratio"),
		.keeps_up = json_is_true(keeps_up),
		.gpu_us = field_number(replay, "gpu_us_per_request"),
	};
	if (!json_is_integer(requests) || !json_is_boolean(keeps_up) ||
	    isnan(out->gpu_busy_ratio) || isnan(out->gpu_us))
		return -EINVAL;
	/* Without a completed request there is no percentile. */
	if (out->requests > 0 &&
	    (isnan(out->p50_us) || isnan(out->p90_us) || isnan(out->p99_us) || isnan(out->p999_us)))
		return -EINVAL;
	if (out->requests == 0)
		out->p50_us = out->p90_us = out->p99_us = out->p999_us = NAN;
	return 0;
}

int result_offline(const json_t *replay, struct offline_figures *out)
{
	*out = (struct offline_figures){
		.steps = field_number(replay, "steps"),
		.gpu_busy_ratio = field_number(replay, "gpu_busy_ratio"),
	};
	return isnan(out->steps) || isnan(out->gpu_busy_ratio) ? -EINVAL : 0;
}

void result_charge(struct colocation *run, enum arm arm, const struct simulation *window)
{
	struct arm_figures *figures = &run->arms[arm];

	hist_add_all(&figures->save, &window->save);
	hist_add_all(&figures->restore, &window->restore);
	hist_add_all(&run->doorbell, &window->doorbell);
}

double result_hist_median_us(const struct hist *h)
{
	return h->count ? (double)hist_percentile(h, 0.5) / 1e3 : NAN;
}

/* The mean time in a queue of this load, served one by one, each in the trace's GPU
 * time (M/D/1, Poisson arrivals; those at fixed distances wait less). */
static double explained_us(const struct online_figures *alone)
{
	double busy = fmin(alone->gpu_busy_ratio, 0.95);

	return alone->gpu_us * (1 + busy / (2 * (1 - busy)));
}

static bool has_bursts(const struct colocation *run)
{
	return run->arrivals && strcmp(run->arrivals, "poisson") != 0 &&
	       strcmp(run->arrivals, "fixed") != 0;
}

static void judge_validity(const struct colocation *run, struct verdict *out)
{
	const struct arm_figures *alone = &run->arms[ARM_ALONE];
	char delay[QUANTITY_BYTES], p50[QUANTITY_BYTES];

	out->validity = RESULT_VALID;
	if (alone->ran && !alone->online.keeps_up) {
		out->validity = RESULT_INVALID;
		snprintf(out->reason, sizeof(out->reason),
			 "online does not keep up even alone, so nothing can be compared with it: "
			 "lower --load");
		return;
	}
	if (!run->simulated)
		return;
	if (run->doorbell.count == 0) {
		out->validity = RESULT_INVALID;
		snprintf(out->reason, sizeof(out->reason),
			 "kfdsim reports no doorbell at all in the measured windows");
		return;
	}
	if (run->is_virtual) /* the machine has no part in it */
		return;
	if (!alone->ran || isnan(alone->online.p50_us)) {
		out->validity = alone->ran ? RESULT_INVALID : RESULT_NOT_JUDGED;
		snprintf(out->reason, sizeof(out->reason),
			 "the doorbell delay is judged by the online P50 alone, and %s",
			 alone->ran ? "no request was completed there" : "arm alone was not run");
		return;
	}
	/* kfdsim has precedence over its callers: it may be prompt, and they not. Requests that
	 * arrive in bursts wait for each other on any machine. */
	if (!has_bursts(run) && alone->online.p50_us > HOST_SHARE * explained_us(&alone->online)) {
		out->validity = RESULT_INVALID;
		snprintf(out->reason, sizeof(out->reason),
			 "the online P50 alone (%s) is more than %g x what the trace's GPU time "
			 "and this load explain (%s): the machine is too busy to submit in time, "
			 "use a smaller --time-scale",
			 quantity_us(p50, alone->online.p50_us), HOST_SHARE,
			 quantity_us(delay, explained_us(&alone->online)));
		return;
	}
	if (out->doorbell_p99_us * run->time_scale <= DOORBELL_SHARE * alone->online.p50_us)
		return;
	out->validity = RESULT_INVALID;
	snprintf(out->reason, sizeof(out->reason),
		 "P99 doorbell delay %s (wall) x time scale %g is more than %g %% of the online "
		 "P50 alone (%s): the machine is too busy, use a smaller --time-scale",
		 quantity_us(delay, out->doorbell_p99_us), run->time_scale, 100 * DOORBELL_SHARE,
		 quantity_us(p50, alone->online.p50_us));
}

void result_judge(const struct colocation *run, struct verdict *out)
{
	const struct arm_figures *alone = &run->arms[ARM_ALONE];
	const struct arm_figures *trap = &run->arms[ARM_TRAP];
	bool doorbells = run->simulated && run->doorbell.count > 0;

	*out = (struct verdict){
		.save_us = run->simulated ? result_hist_median_us(&trap->save) : NAN,
		.restore_us = run->simulated ? result_hist_median_us(&trap->restore) : NAN,
		.doorbell_p50_us =
			doorbells ? (double)hist_percentile(&run->doorbell, 0.5) / 1e3 : NAN,
		.doorbell_p99_us =
			doorbells ? (double)hist_percentile(&run->doorbell, 0.99) / 1e3 : NAN,
		.floor_us = NAN,
		.bound = NAN,
	};
	if (run->simulated && alone->ran && trap->ran && alone->online.keeps_up)
		out->floor_us = alone->online.p99_us + 2 * run->bounce_us +
				(isnan(out->save_us) ? 0 : out->save_us);
	if (trap->ran && trap->online.keeps_up)
		out->bound = trap->online.p99_us / out->floor_us;
	for (unsigned i = 0; i < ARM_COUNT; i++)
		out->of_alone[i] = alone->ran && run->arms[i].ran && alone->offline.steps > 0
					   ? run->arms[i].offline.steps / alone->offline.steps
					   : NAN;
	result_find_possible(run, out);
	judge_validity(run, out);
}

static json_t *number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *range_json(const struct range *range)
{
	return json_pack("[o,o]", number(range->low), number(range->high));
}

static json_t *spread_json(const struct spread *spread)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "p50_us", range_json(&spread->p50_us),
			 "p90_us", range_json(&spread->p90_us), "p99_us",
			 range_json(&spread->p99_us), "p999_us", range_json(&spread->p999_us),
			 "steps", range_json(&spread->steps), "of_alone",
			 range_json(&spread->of_alone));
}

static json_t *arm_json(const struct arm_figures *arm, const struct spread *spread)
{
	const struct online_figures *online = &arm->online;

	return json_pack(
		"{s:{s:o,s:o,s:o,s:o,s:I,s:o,s:b},s:{s:o,s:o},s:o,s:I,s:I,s:o,s:{s:o,s:o}}",
		"online", "p50_us", number(online->p50_us), "p90_us", number(online->p90_us),
		"p99_us", number(online->p99_us), "p999_us", number(online->p999_us), "requests",
		online->requests, "gpu_busy_ratio", number(online->gpu_busy_ratio), "keeps_up",
		online->keeps_up, "offline", "steps", number(arm->offline.steps), "gpu_busy_ratio",
		number(arm->offline.gpu_busy_ratio), "spread", spread_json(spread), "suspends",
		(json_int_t)arm->suspends, "resumes", (json_int_t)arm->resumes, "time_percent",
		time_json(&arm->time), "delays_us", "suspend", number(arm->suspend_delay_us),
		"resume", number(arm->resume_delay_us));
}

json_t *result_json(const struct colocation *run, const struct verdict *verdict)
{
	json_t *arms = json_object();
	json_t *costs = json_null(), *valid = json_null();

	if (run->simulated)
		costs = json_pack("{s:o,s:o,s:o}", "bounce_us", number(run->bounce_us), "save_us",
				  number(verdict->save_us), "restore_us",
				  number(verdict->restore_us));
	if (verdict->validity != RESULT_NOT_JUDGED)
		valid = json_boolean(verdict->validity == RESULT_VALID);
	for (unsigned i = 0; i < ARM_COUNT; i++)
		if (run->arms[i].ran)
			json_object_set_new(arms, arm_names[i],
					    arm_json(&run->arms[i], &run->spread[i]));
	return json_pack(
		"{s:b,s:b,s:o,s:f,s:s,s:s,s:s,s:o,s:o,s:f,s:i,s:o,s:o,s:o,s:o,s:o,s:o}",
		"simulated", run->simulated, "virtual", run->is_virtual, "profile",
		run->simulated ? json_string(run->profile) : json_null(), "time_scale",
		run->time_scale, "online", run->online, "offline", run->offline, "arrivals",
		run->arrivals ? run->arrivals : "poisson", "load", number(run->load), "rate_per_s",
		number(run->rate_per_s), "seconds", run->seconds, "seeds", (int)run->seeds, "costs",
		costs, "valid", valid, "invalid_reason",
		verdict->reason[0] ? json_string(verdict->reason) : json_null(),
		"doorbell_delay_us",
		run->simulated ? json_pack("{s:o,s:o}", "p50", number(verdict->doorbell_p50_us),
					   "p99", number(verdict->doorbell_p99_us))
			       : json_null(),
		"possible", result_possible_json(verdict), "arms", arms);
}
