// SPDX-License-Identifier: MIT
/* Decodes the values of a run, evaluates their validity, and writes them as JSON (result.h). */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cli/colocate/result.h"
#include "common/json_util.h"

/* Highest valid doorbell delay, as a share of the online P50; kfdsim itself causes this delay. */
#define DOORBELL_SHARE 0.05
#define HOST_SHARE 2.0 /* highest valid online P50 in ARM_ALONE, as a multiple of explained_us() */

int result_online(const json_t *replay, struct online_stats *out)
{
	const json_t *latency = json_object_get(replay, "latency_us");
	const json_t *requests = json_object_get(replay, "requests");
	const json_t *keeps_up = json_object_get(replay, "keeps_up");

	*out = (struct online_stats){
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
	/* Without a completed request there are no percentiles. */
	if (out->requests > 0 &&
	    (isnan(out->p50_us) || isnan(out->p90_us) || isnan(out->p99_us) || isnan(out->p999_us)))
		return -EINVAL;
	if (out->requests == 0)
		out->p50_us = out->p90_us = out->p99_us = out->p999_us = NAN;
	return 0;
}

int result_offline(const json_t *replay, struct offline_stats *out)
{
	*out = (struct offline_stats){
		.steps = field_number(replay, "steps"),
		.gpu_busy_ratio = field_number(replay, "gpu_busy_ratio"),
		.gpu_us = field_number(replay, "gpu_us_per_request"),
	};
	return isnan(out->steps) || isnan(out->gpu_busy_ratio) || isnan(out->gpu_us) ? -EINVAL : 0;
}

void result_charge(struct colocation *run, enum arm arm, const struct simulation *window)
{
	struct arm_stats *stats = &run->arms[arm];

	hist_add_all(&stats->save, &window->save);
	hist_add_all(&stats->restore, &window->restore);
	hist_add_all(&run->doorbell, &window->doorbell);
}

double result_hist_median_us(const struct hist *h)
{
	return h->count ? (double)hist_percentile(h, 0.5) / 1e3 : NAN;
}

/* Returns the P50 in us that is expected in ARM_ALONE if only the GPU takes time: the mean time in
 * the system of an M/D/1 queue (Poisson arrivals, one server) with this load, and with the GPU time
 * of the trace as the service time. Requests that arrive at fixed distances wait less. */
static double explained_us(const struct online_stats *alone)
{
	double busy = fmin(alone->gpu_busy_ratio, 0.95);

	return alone->gpu_us * (1 + busy / (2 * (1 - busy)));
}

static bool has_bursts(const struct colocation *run)
{
	return run->arrivals && strcmp(run->arrivals, "poisson") != 0 &&
	       strcmp(run->arrivals, "fixed") != 0;
}

/* Marks the run as not valid and stores the reason. */
__attribute__((format(printf, 2, 3))) static void refuse(struct result_verdict *out,
							 const char *fmt, ...)
{
	va_list arguments;

	out->validity = RESULT_INVALID;
	va_start(arguments, fmt);
	vsnprintf(out->reason, sizeof(out->reason), fmt, arguments);
	va_end(arguments);
}

/* Checks whether the machine was fast enough, by the values of online client `i` in ARM_ALONE.
 * Called only if the simulation runs in real time. */
static void evaluate_client(const struct colocation *run, unsigned i, struct result_verdict *out)
{
	const struct online_stats *alone = client_online(run, &run->arms[ARM_ALONE], i);
	bool several = run->online_clients.count > 1;
	char delay[QUANTITY_BYTES], p50[QUANTITY_BYTES], whose[48] = "";

	if (several)
		snprintf(whose, sizeof(whose), " of %s", run->online_clients.traces[i]);
	quantity_us(p50, alone->p50_us);
	/* The doorbell delay alone does not show that the machine kept up, because kfdsim has
	 * precedence over the workloads and can be prompt while they are late. So the P50 in
	 * ARM_ALONE is compared with explained_us(), except for bursts, whose requests wait for
	 * each other on any machine. */
	if (isnan(alone->p50_us))
		refuse(out,
		       "the doorbell delay is compared with the online P50 alone%s, and no request "
		       "was completed there",
		       whose);
	else if (!has_bursts(run) && alone->p50_us > HOST_SHARE * explained_us(alone))
		refuse(out,
		       "the online P50 alone%s (%s) is more than %g x what the trace's GPU time "
		       "and this load explain (%s): the machine is too busy to submit in time, "
		       "use a smaller --time-scale",
		       whose, p50, HOST_SHARE, quantity_us(delay, explained_us(alone)));
	else if (out->doorbell_p99_us * run->time_scale > DOORBELL_SHARE * alone->p50_us)
		refuse(out,
		       "P99 doorbell delay %s (wall) x time scale %g is more than %g %% of the "
		       "online P50 alone%s (%s): the machine is too busy, use a smaller "
		       "--time-scale",
		       quantity_us(delay, out->doorbell_p99_us), run->time_scale,
		       100 * DOORBELL_SHARE, whose, p50);
}

/* Sets validity and reason. A run is not valid if the online clients do not keep up even in
 * ARM_ALONE, or if kfdsim reports no doorbell. Under kfdsim in real time it is also not valid if
 * the values of ARM_ALONE show that the machine was too slow. */
static void evaluate_validity(const struct colocation *run, struct result_verdict *out)
{
	const struct arm_stats *alone = &run->arms[ARM_ALONE];

	out->validity = RESULT_VALID;
	if (alone->ran && !alone->online.keeps_up)
		refuse(out, "online does not keep up even in arm alone, so the arms cannot be "
			    "compared: use a lower --load");
	else if (run->simulated && run->doorbell.count == 0)
		refuse(out, "kfdsim reports no doorbell in the measured windows");
	else if (!run->simulated || run->is_virtual) /* the machine's speed has no influence */
		return;
	else if (!alone->ran) {
		refuse(out,
		       "the doorbell delay is compared with the online P50 alone, and arm alone "
		       "was not run");
		out->validity = RESULT_NOT_EVALUATED;
	}
	for (unsigned i = 0; out->validity == RESULT_VALID && i < run->online_clients.count; i++)
		evaluate_client(run, i, out);
}

/* Computes the floor of an arm (floor_us in result.h), and its P99 relative to that floor. Both are
 * NAN on hardware if the driver preempts, because the cost of a runlist update is not known
 * there. */
static void find_floor(const struct colocation *run, enum arm arm, struct result_verdict *out)
{
	const struct arm_stats *alone = &run->arms[ARM_ALONE], *stats = &run->arms[arm];
	const struct arm_kind *kind = &arm_kinds[arm];

	out->floor_us[arm] = out->bound[arm] = NAN;
	if (!kind->level || !alone->ran || !stats->ran || !alone->online.keeps_up)
		return;
	out->floor_us[arm] = alone->online.p99_us;
	if (kind->preempts)
		out->floor_us[arm] += 2 * run->update_us + (isnan(out->save_us) ? 0 : out->save_us);
	if (stats->online.keeps_up)
		out->bound[arm] = stats->online.p99_us / out->floor_us[arm];
}

void result_evaluate(const struct colocation *run, struct result_verdict *out)
{
	const struct arm_stats *alone = &run->arms[ARM_ALONE];
	struct hist save = {0}, restore = {0};
	bool doorbells = run->simulated && run->doorbell.count > 0;

	for (unsigned i = 0; i < ARM_COUNT; i++)
		if (arm_kinds[i].preempts) {
			hist_add_all(&save, &run->arms[i].save);
			hist_add_all(&restore, &run->arms[i].restore);
		}
	*out = (struct result_verdict){
		.save_us = run->simulated ? result_hist_median_us(&save) : NAN,
		.restore_us = run->simulated ? result_hist_median_us(&restore) : NAN,
		.doorbell_p50_us =
			doorbells ? (double)hist_percentile(&run->doorbell, 0.5) / 1e3 : NAN,
		.doorbell_p99_us =
			doorbells ? (double)hist_percentile(&run->doorbell, 0.99) / 1e3 : NAN,
	};
	for (unsigned i = 0; i < ARM_COUNT; i++) {
		find_floor(run, (enum arm)i, out);
		out->of_alone[i] = alone->ran && run->arms[i].ran && alone->offline.steps > 0
					   ? run->arms[i].offline.steps / alone->offline.steps
					   : NAN;
	}
	result_find_possible(run, out);
	evaluate_validity(run, out);
}

static json_t *number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

#include "cli/colocate/result.def"

/* Returns the values of each client in an arm (a compared configuration) as JSON. */
static json_t *clients_json(const struct colocation *run, enum arm which)
{
	const struct arm_stats *arm = &run->arms[which];
	const struct client_set *online = &run->online_clients, *offline = &run->offline_clients;
	json_t *lists[] = {json_array(), json_array()}, *one;

	for (unsigned i = 0; i < online->count; i++) {
		one = render_json(fields_colocate_online, client_online(run, arm, i));
		json_object_set_new(one, "trace", json_string(online->traces[i]));
		json_array_append_new(lists[0], one);
	}
	for (unsigned i = 0; i < offline->count; i++) {
		one = render_json(fields_colocate_offline, client_offline(run, arm, i));
		json_object_set_new(one, "trace", json_string(offline->traces[i]));
		json_object_set_new(one, "group",
				    offline->groups[i] ? json_string(offline->groups[i])
						       : json_null());
		json_object_set_new(one, "of_alone", number(client_of_alone(run, which, i)));
		json_array_append_new(lists[1], one);
	}
	return json_pack("{s:o,s:o}", "online", lists[0], "offline", lists[1]);
}

static json_t *count_json(enum arm arm, uint64_t count)
{
	return json_number(arm_is_counted(arm), (int64_t)count);
}

static json_t *arm_json(const struct colocation *run, enum arm which, double floor_us)
{
	const struct arm_stats *arm = &run->arms[which];

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:{s:o,s:o},s:s?,s:o}", "online",
			 render_json(fields_colocate_online, &arm->online), "offline",
			 render_json(fields_colocate_offline, &arm->offline), "clients",
			 clients_json(run, which), "spread",
			 render_json(fields_colocate_spread, &run->spread[which]), "suspends",
			 count_json(which, arm->suspends), "resumes",
			 count_json(which, arm->resumes), "time_percent", time_json(&arm->time),
			 "delays_us", "suspend",
			 number(arm_is_counted(which) ? arm->suspend_delay_us : NAN), "resume",
			 number(arm_is_counted(which) ? arm->resume_delay_us : NAN), "level",
			 arm->level, "floor_us", number(floor_us));
}

json_t *result_json(const struct colocation *run, const struct result_verdict *verdict)
{
	json_t *out = render_json(fields_colocate, run), *arms = json_object();
	json_t *costs = json_null(), *delay = json_null(), *valid = json_null();

	if (run->simulated) {
		costs = json_pack("{s:o,s:o,s:o}", "bounce_us", number(run->update_us), "save_us",
				  number(verdict->save_us), "restore_us",
				  number(verdict->restore_us));
		delay = render_json(fields_colocate_delay, verdict);
	}
	if (verdict->validity != RESULT_NOT_EVALUATED)
		valid = json_boolean(verdict->validity == RESULT_VALID);
	for (unsigned i = 0; i < ARM_COUNT; i++)
		if (run->arms[i].ran)
			json_object_set_new(arms, arm_kinds[i].name,
					    arm_json(run, (enum arm)i, verdict->floor_us[i]));
	json_object_update_new(out,
			       json_pack("{s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "profile",
					 run->simulated ? json_string(run->profile) : json_null(),
					 "arrivals", run->arrivals ? run->arrivals : "poisson",
					 "costs", costs, "valid", valid, "invalid_reason",
					 plain_or_null(verdict->reason), "doorbell_delay_us", delay,
					 "possible", result_possible_json(verdict), "arms", arms));
	return out;
}
