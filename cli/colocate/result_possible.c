// SPDX-License-Identifier: MIT
#include "cli/colocate/result_possible.h"

#include <math.h>
#include <stdlib.h>

#include "cli/colocate/result_clients.h"
#include "cli/output/table.h"

static double known(double us)
{
	return isnan(us) ? 0 : us;
}

/* Costs of one process. */
static struct possible_costs client_costs(const struct colocation *run,
					  const struct result_verdict *verdict)
{
	if (run->simulated)
		return (struct possible_costs){
			.suspend_us = run->update_us + known(verdict->save_us),
			.resume_us = run->update_us + known(verdict->restore_us),
		};
	return (struct possible_costs){result_hist_median_us(&run->suspend),
				       result_hist_median_us(&run->resume)};
}

/* Costs of the smallest gang: one driver call per process. */
static struct possible_costs find_costs(const struct colocation *run,
					const struct result_verdict *verdict)
{
	struct possible_costs costs = client_costs(run, verdict);
	unsigned calls = client_smallest_hold(&run->offline_clients);

	costs.suspend_us *= calls;
	costs.resume_us *= calls;
	return costs;
}

/* Merges the requests of all clients of one seed into one list, which the caller frees. Returns
 * NULL if the requests of a client are not known or memory is short. */
static struct possible_request *merge(const struct request_list *lists, unsigned clients,
				      size_t *count)
{
	struct possible_request *requests;
	size_t room = 1;

	*count = 0;
	for (unsigned i = 0; i < clients; i++) {
		if (!lists[i].times)
			return NULL;
		room += lists[i].count;
	}
	requests = calloc(room, sizeof(*requests));
	for (unsigned i = 0; requests && i < clients; i++) {
		possible_service(lists[i].times, lists[i].count, requests + *count);
		*count += lists[i].count;
	}
	if (requests)
		possible_merge(requests, *count);
	return requests;
}

/* Runs the clairvoyant scheduler on the requests of one seed. */
static struct possible play(const struct colocation *run, unsigned seed,
			    const struct possible_costs *costs)
{
	struct possible possible = POSSIBLE_UNKNOWN;
	size_t count;
	struct possible_request *requests =
		merge(run->requests[seed], run->online_clients.count, &count);

	/* On an error `possible` stays unknown. */
	if (requests)
		possible_play(requests, count, run->seconds * 1e6 * run->time_scale, costs,
			      &possible);
	free(requests);
	return possible;
}

static struct possible combine(const struct possible *all, unsigned seeds)
{
	double p50_us[RESULT_SEEDS_MAX], p99_us[RESULT_SEEDS_MAX];
	struct possible out = {0};

	for (unsigned i = 0; i < seeds; i++) {
		out.share += all[i].share / seeds;
		out.suspends += all[i].suspends;
		p50_us[i] = all[i].p50_us;
		p99_us[i] = all[i].p99_us;
	}
	out.p50_us = result_median(p50_us, seeds);
	out.p99_us = result_median(p99_us, seeds);
	return out;
}

/* Compares an arm with what is possible. */
static void compare(const struct colocation *run, enum arm arm, struct result_verdict *out)
{
	const struct online_stats *online = &run->arms[arm].online;

	if (out->possible.share > 0)
		out->of_possible[arm] = out->of_alone[arm] / out->possible.share;
	if (online->keeps_up)
		out->of_possible_p99[arm] = online->p99_us / out->possible.p99_us;
}

void result_find_possible(const struct colocation *run, struct result_verdict *out)
{
	const struct arm_stats *alone = &run->arms[ARM_ALONE];
	struct possible all[RESULT_SEEDS_MAX];

	out->possible_costs = find_costs(run, out);
	out->possible = POSSIBLE_UNKNOWN;
	for (unsigned i = 0; i < ARM_COUNT; i++)
		out->of_possible[i] = out->of_possible_p99[i] = NAN;
	if (!alone->ran || !alone->online.keeps_up || run->seeds == 0)
		return;
	for (unsigned i = 0; i < run->seeds; i++)
		all[i] = play(run, i, &out->possible_costs);
	out->possible = combine(all, run->seeds);
	for (unsigned i = 0; i < ARM_COUNT; i++)
		if (run->arms[i].ran && arm_kinds[i].level)
			compare(run, (enum arm)i, out);
}

static json_t *number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

json_t *result_possible_json(const struct result_verdict *verdict)
{
	const struct possible *possible = &verdict->possible;

	if (isnan(possible->share))
		return json_null();
	return json_pack("{s:f,s:f,s:f,s:o,s:o,s:I,s:o,s:o}", "suspend_us",
			 verdict->possible_costs.suspend_us, "resume_us",
			 verdict->possible_costs.resume_us, "of_alone", possible->share, "p50_us",
			 number(possible->p50_us), "p99_us", number(possible->p99_us), "suspends",
			 (json_int_t)possible->suspends, "trap_of_possible",
			 number(verdict->of_possible[ARM_TRAP]), "trap_p99_of_possible",
			 number(verdict->of_possible_p99[ARM_TRAP]));
}

void result_print_possible(const struct colocation *run, const struct result_verdict *verdict,
			   FILE *out)
{
	const struct possible *possible = &verdict->possible;
	char p99[QUANTITY_BYTES];

	if (isnan(possible->share))
		return;
	fprintf(out, "possible with known arrivals: offline keeps %.1f %%, online P99 %s",
		100 * possible->share, quantity_us(p99, possible->p99_us));
	for (unsigned i = 0; i < ARM_COUNT; i++) {
		if (!isnan(verdict->of_possible[i]))
			fprintf(out, "; %s keeps %.1f %% (%.0f %% of that)", arm_kinds[i].name,
				100 * verdict->of_alone[i], 100 * verdict->of_possible[i]);
		if (!isnan(verdict->of_possible_p99[i]))
			fprintf(out, ", P99 %s (%.2f x)",
				quantity_us(p99, run->arms[i].online.p99_us),
				verdict->of_possible_p99[i]);
	}
	fputc('\n', out);
}
