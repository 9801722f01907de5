// SPDX-License-Identifier: MIT
#include "cli/colocate/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"

void possible_service(const struct request_time *times, size_t count, struct possible_request *out)
{
	double free_us = 0;

	for (size_t i = 0; i < count; i++) {
		double begin_us = fmax(times[i].due_us, free_us);

		out[i].due_us = times[i].due_us;
		out[i].service_us = isnan(times[i].end_us) ? INFINITY : times[i].end_us - begin_us;
		free_us = begin_us + out[i].service_us;
	}
}

static int compare_arrivals(const void *a, const void *b)
{
	const struct possible_request *x = a, *y = b;

	return (x->due_us > y->due_us) - (x->due_us < y->due_us);
}

void possible_merge(struct possible_request *requests, size_t count)
{
	qsort(requests, count, sizeof(*requests), compare_arrivals);
}

/* Returns the time that the offline process gets from a gap; 0: the gap is too short for a
 * resume. */
static double given_us(double gap_us, const struct possible_costs *costs)
{
	return fmax(gap_us - costs->resume_us, 0);
}

int possible_play(const struct possible_request *requests, size_t count, double window_us,
		  const struct possible_costs *costs, struct possible *out)
{
	double *latency_us, free_us = 0, offline_us = 0;
	uint64_t suspends = 0;
	size_t completed = 0;

	*out = POSSIBLE_UNKNOWN;
	if (!(window_us > 0) || !(costs->suspend_us >= 0) || !(costs->resume_us >= 0))
		return -EINVAL;
	latency_us = allocate(count, sizeof(*latency_us));
	for (size_t i = 0; i < count; i++) {
		const struct possible_request *request = &requests[i];
		double given = given_us(request->due_us - free_us, costs);
		double begin_us = fmax(request->due_us, free_us);

		/* Offline work ran until the arrival, so the request waits for its suspend. */
		if (given > 0) {
			begin_us = request->due_us + costs->suspend_us;
			suspends++;
		}
		offline_us += given;
		free_us = begin_us + request->service_us;
		/* A request that is not done by the end of the window has no latency. */
		if (isfinite(free_us))
			latency_us[completed++] = free_us - request->due_us;
	}
	offline_us += given_us(window_us - free_us, costs);
	values_sort(latency_us, completed);
	*out = (struct possible){.share = offline_us / window_us,
				 .p50_us = values_rank(latency_us, completed, 0.5),
				 .p99_us = values_rank(latency_us, completed, 0.99),
				 .suspends = suspends};
	free(latency_us);
	return 0;
}

/* ---- request times ----
 *
 * The file has a header line and one line per request: arrival, start and end in us. The end is
 * empty if the request was not completed. */

#define HEADER "due_us,begin_us,end_us\n"

/* Parses a line. Returns false if it is malformed. Times must not decrease within a line, nor
 * arrivals from line to line. An empty end time means that the request was not completed. */
static bool parse_line(const char *line, double last_due_us, struct request_time *out)
{
	double begin_us;
	int end = 0, last = 0;

	*out = (struct request_time){.end_us = NAN};
	if (sscanf(line, "%lf,%lf,%n", &out->due_us, &begin_us, &end) != 2 || end == 0)
		return false;
	if (line[end] != '\n' &&
	    (sscanf(line + end, "%lf%n", &out->end_us, &last) != 1 || line[end + last] != '\n' ||
	     !(out->end_us >= begin_us) || isinf(out->end_us)))
		return false;
	return out->due_us >= last_due_us && begin_us >= out->due_us;
}

static int read_lines(FILE *file, struct request_list *out)
{
	char line[128];
	double last_due_us = 0;
	size_t room = 0;

	if (!fgets(line, sizeof(line), file) || strcmp(line, HEADER) != 0)
		return ferror(file) ? -EIO : -EINVAL;
	while (fgets(line, sizeof(line), file)) {
		struct request_time time;

		if (!parse_line(line, last_due_us, &time))
			return -EINVAL;
		last_due_us = time.due_us;
		out->times = allocate_next(out->times, out->count, &room, sizeof(time));
		out->times[out->count++] = time;
	}
	return ferror(file) ? -EIO : 0;
}

int request_list_read(const char *path, struct request_list *out)
{
	FILE *file = fopen(path, "re");
	int rc;

	*out = (struct request_list){0};
	if (!file)
		return -errno;
	rc = read_lines(file, out);
	fclose(file);
	if (rc)
		request_list_free(out);
	return rc;
}

void request_list_free(struct request_list *list)
{
	free(list->times);
	*list = (struct request_list){0};
}

/* ---- comparison of a run with the model ---- */

static double known(double us)
{
	return isnan(us) ? 0 : us;
}

/* Returns the costs of one driver call, which suspends or resumes one process. */
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

/* Returns the costs of a suspend and a resume of the smallest gang (clients that are suspended
 * together, see client_smallest_hold()): one driver call per process. */
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
 * NULL if the requests of a client are not known. */
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
	requests = allocate(room, sizeof(*requests));
	for (unsigned i = 0; i < clients; i++) {
		possible_service(lists[i].times, lists[i].count, requests + *count);
		*count += lists[i].count;
	}
	possible_merge(requests, *count);
	return requests;
}

/* Runs the model of a clairvoyant scheduler, which knows all arrivals in advance (result.h), on
 * the requests of one seed. */
static struct possible play(const struct colocation *run, unsigned seed,
			    const struct possible_costs *costs)
{
	struct possible possible = POSSIBLE_UNKNOWN;
	size_t count;
	struct possible_request *requests =
		merge(run->requests[seed], run->online_clients.count, &count);

	/* If the requests are not known, `possible` stays unknown. */
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

/* Computes the share and the P99 of an arm (a compared configuration) relative to those of the
 * clairvoyant scheduler, which knows all arrivals. */
static void compare_arm(const struct colocation *run, enum arm arm, struct result_verdict *out)
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
			compare_arm(run, (enum arm)i, out);
}

json_t *result_possible_json(const struct result_verdict *verdict)
{
	return isnan(verdict->possible.share) ? json_null()
					      : render_json(fields_colocate_possible, verdict);
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
