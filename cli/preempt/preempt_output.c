// SPDX-License-Identifier: MIT
/* Output of "kfdsched preempt": text with a table and a histogram, or JSON. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "cli/output/fields.h"
#include "cli/output/text_histogram.h"
#include "cli/preempt/preempt.h"
#include "common/text.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* By nearest rank. NAN if there are no values. */
static double quantile(const struct preempt_times *times, double q)
{
	unsigned rank = (unsigned)ceil(q * times->count);

	return times->count ? times->sorted[rank ? rank - 1 : 0] : NAN;
}

static void sum_up(struct preempt_times *times)
{
	double sum = 0;

	qsort(times->sorted, times->count, sizeof(double), compare);
	for (unsigned i = 0; i < times->count; i++)
		sum += times->sorted[i];
	times->min = quantile(times, 0);
	times->mean = times->count ? sum / times->count : NAN;
	times->p50 = quantile(times, 0.5);
	times->p90 = quantile(times, 0.9);
	times->p99 = quantile(times, 0.99);
	times->max = quantile(times, 1);
}

/* Times at which the driver began to suspend the process, and at which it had resumed it. */
static double off_ns(const struct preempt_round *round)
{
	return (double)round->held_ns - 1e3 * round->suspend_us;
}

static double on_ns(const struct preempt_round *round)
{
	return (double)round->held_ns + 1e3 * (round->held_us + round->resume_us);
}

/* Sorts the requests into those within a hold, those outside, and those in between. Both lists are
 * in order of time, so one pass suffices. What began after the last round is not counted, because
 * a round that has failed can have followed. */
static void place_requests(const struct preempt_result *result, struct preempt_stats *out)
{
	const struct preempt_online *online = result->online;
	const struct preempt_round *round = result->rounds, *end = round + result->done;

	for (unsigned i = 0; online && i < online->count; i++) {
		const struct preempt_request *request = &online->list[i];
		double begin = (double)request->begin_ns, done = (double)request->end_ns;
		double us = (done - begin) / 1e3;

		while (round < end && on_ns(round) <= begin)
			round++;
		if (round == end)
			return;
		if (done <= off_ns(round))
			out->online_outside.sorted[out->online_outside.count++] = us;
		else if (request->begin_ns >= round->held_ns &&
			 done <= (double)round->held_ns + 1e3 * round->held_us)
			out->online_held.sorted[out->online_held.count++] = us;
		else
			out->online_across++;
	}
}

int preempt_stats(const struct preempt_result *result, struct preempt_stats *out)
{
	unsigned count = result->done ? result->done - 1 : 0;
	unsigned requests = result->online ? result->online->count : 0;

	*out = (struct preempt_stats){
		.suspend = {.count = count, .sorted = calloc(count + 1, sizeof(double))},
		.held = {.count = count, .sorted = calloc(count + 1, sizeof(double))},
		.resume = {.count = count, .sorted = calloc(count + 1, sizeof(double))},
		.online_held = {.sorted = calloc(requests + 1, sizeof(double))},
		.online_outside = {.sorted = calloc(requests + 1, sizeof(double))},
	};
	if (!out->suspend.sorted || !out->held.sorted || !out->resume.sorted ||
	    !out->online_held.sorted || !out->online_outside.sorted) {
		preempt_stats_free(out);
		return -ENOMEM;
	}
	place_requests(result, out);
	for (unsigned i = 0; i < count; i++) {
		out->suspend.sorted[i] = result->rounds[i + 1].suspend_us;
		out->held.sorted[i] = result->rounds[i + 1].held_us;
		out->resume.sorted[i] = result->rounds[i + 1].resume_us;
	}
	sum_up(&out->suspend);
	sum_up(&out->held);
	sum_up(&out->resume);
	sum_up(&out->online_held);
	sum_up(&out->online_outside);
	return 0;
}

void preempt_stats_free(struct preempt_stats *stats)
{
	free(stats->suspend.sorted);
	free(stats->held.sorted);
	free(stats->resume.sorted);
	free(stats->online_held.sorted);
	free(stats->online_outside.sorted);
	*stats = (struct preempt_stats){0};
}

/* ---- text ---- */

static void row(struct table *table, const char *name, const struct preempt_times *times)
{
	const double us[] = {times->min, times->mean, times->p50,
			     times->p90, times->p99,  times->max};
	char text[QUANTITY_BYTES];

	table_row(table);
	table_cell(table, "%s", name);
	table_cell(table, "%u", times->count);
	for (size_t i = 0; i < sizeof(us) / sizeof(us[0]); i++)
		table_cell(table, "%s", quantity_us(text, us[i]));
}

static int print_table(const struct preempt_stats *stats)
{
	struct table *table = table_new("<|ROUNDS|MIN|MEAN|P50|P90|P99|MAX");
	int rc;

	if (!table)
		return -ENOMEM;
	row(table, "suspend", &stats->suspend);
	row(table, "held", &stats->held);
	row(table, "resume", &stats->resume);
	rc = table_print(table, stdout);
	table_free(table);
	return rc;
}

/* Prints what the requests took while the process was held, and while it ran. */
static int print_online(const struct preempt_online *online, const struct preempt_stats *stats)
{
	struct table *table = table_new("<|REQUESTS|MIN|MEAN|P50|P90|P99|MAX");
	int rc;

	if (!table)
		return -ENOMEM;
	putchar('\n');
	row(table, "online, held", &stats->online_held);
	row(table, "online, outside", &stats->online_outside);
	rc = table_print(table, stdout);
	table_free(table);
	if (stats->online_across)
		printf("%u requests were under way during a suspend or resume\n",
		       stats->online_across);
	if (online->failed)
		printf("%u requests failed\n", online->failed);
	if (!stats->online_held.count)
		puts("no request began and ended within a hold: use a longer --hold");
	return rc;
}

static void print_head(const struct preempt_job *job, const struct preempt_result *result)
{
	char hold[QUANTITY_BYTES], pause[QUANTITY_BYTES];

	printf("process %d (%s): ", (int)job->target.pid, job->target.name);
	if (result->tried)
		printf("%u/%u successes (%.3g %%)", result->done, result->tried,
		       100.0 * result->done / result->tried);
	else
		printf("not preempted");
	if (result->tried < job->times)
		printf(", %u of %u rounds not run", job->times - result->tried, job->times);
	printf(", by %s%s\n", job->daemon_pid ? "the daemon" : "a debug session of kfdsched",
	       job->simulated ? ", on a simulated GPU" : "");
	printf("to be held for %s each time, with %s between\n", quantity_us(hold, job->hold_us),
	       quantity_us(pause, job->pause_us));
}

int preempt_print(const struct preempt_job *job, const struct preempt_result *result,
		  const struct preempt_stats *stats, unsigned columns, bool blocks)
{
	const struct histogram_series series[] = {
		{"suspend", stats->suspend.sorted, stats->suspend.count},
		{"resume", stats->resume.sorted, stats->resume.count},
	};
	char suspend[QUANTITY_BYTES], held[QUANTITY_BYTES], resume[QUANTITY_BYTES];
	int rc;

	print_head(job, result);
	if (!isnan(result->opening_us))
		printf("opening the session: suspend %s\n",
		       quantity_us(suspend, result->opening_us));
	if (result->done)
		printf("first round: suspend %s, held %s, resume %s\n",
		       quantity_us(suspend, result->rounds[0].suspend_us),
		       quantity_us(held, result->rounds[0].held_us),
		       quantity_us(resume, result->rounds[0].resume_us));
	rc = result->online ? print_online(result->online, stats) : 0;
	if (rc || !stats->suspend.count)
		return rc;
	putchar('\n');
	rc = print_table(stats);
	if (rc)
		return rc;
	putchar('\n');
	histogram_print(series, sizeof(series) / sizeof(series[0]), columns, blocks, stdout);
	return 0;
}

/* ---- JSON ---- */

#include "cli/preempt/preempt.def"

static json_t *times_json(const struct preempt_times *times, const struct field *fields)
{
	return times->count ? render_json(fields, times) : json_null();
}

static json_t *online_json(const struct preempt_job *job, const struct preempt_online *online,
			   const struct preempt_stats *stats)
{
	if (!online)
		return json_null();
	return json_pack("{so sI sI sI so so}", "command", plain_or_null(job->online), "failed",
			 (json_int_t)online->failed, "across", (json_int_t)stats->online_across,
			 "left_out", (json_int_t)online->left_out, "held_us",
			 times_json(&stats->online_held, fields_preempt_requests), "outside_us",
			 times_json(&stats->online_outside, fields_preempt_requests));
}

int preempt_print_json(const struct preempt_job *job, const struct preempt_result *result,
		       const struct preempt_stats *stats)
{
	json_t *root = json_pack(
		"{sI ss sb sb sI sI sI sf sf so so so so so so ss?}", "pid",
		(json_int_t)job->target.pid, "comm", job->target.name, "simulated",
		(int)job->simulated, "by_daemon", job->daemon_pid != 0, "asked",
		(json_int_t)job->times, "tried", (json_int_t)result->tried, "succeeded",
		(json_int_t)result->done, "hold_us", job->hold_us, "pause_us", job->pause_us,
		"opening_suspend_us",
		isnan(result->opening_us) ? json_null() : json_real(result->opening_us), "first",
		result->done ? render_json(fields_preempt_round, &result->rounds[0]) : json_null(),
		"suspend_us", times_json(&stats->suspend, fields_preempt_times), "held_us",
		times_json(&stats->held, fields_preempt_times), "resume_us",
		times_json(&stats->resume, fields_preempt_times), "online",
		online_json(job, result->online, stats), "problem",
		result->problem[0] ? result->problem : NULL);
	return render_print(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
}
