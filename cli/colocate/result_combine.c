// SPDX-License-Identifier: MIT
/* Combines the values of several clients of one kind, and those of several seeds. */
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"

#include "cli/colocate/result.h"

const struct online_stats *client_online(const struct colocation *run, const struct arm_stats *arm,
					 unsigned i)
{
	return run->online_clients.count > 1 ? &arm->online_of[i] : &arm->online;
}

const struct offline_stats *client_offline(const struct colocation *run,
					   const struct arm_stats *arm, unsigned i)
{
	return run->offline_clients.count > 1 ? &arm->offline_of[i] : &arm->offline;
}

double client_of_alone(const struct colocation *run, enum arm arm, unsigned i)
{
	const struct arm_stats *alone = &run->arms[ARM_ALONE], *here = &run->arms[arm];
	double steps = client_offline(run, alone, i)->steps;

	return alone->ran && here->ran && steps > 0 ? client_offline(run, here, i)->steps / steps
						    : NAN;
}

/* Appends the latencies of the completed requests. Returns the new number of latencies. */
static size_t add_latencies(const struct request_list *list, double *into, size_t count)
{
	for (size_t i = 0; i < list->count; i++)
		if (!isnan(list->times[i].end_us))
			into[count++] = list->times[i].end_us - list->times[i].due_us;
	return count;
}

/* Computes the percentiles of all requests of all clients. */
static void find_percentiles(const struct request_list *requests, unsigned clients,
			     struct online_stats *out)
{
	size_t room = 0, count = 0;
	double *latencies;

	for (unsigned i = 0; i < clients; i++)
		room += requests[i].count;
	latencies = allocate(room, sizeof(*latencies));
	for (unsigned i = 0; i < clients; i++)
		count = add_latencies(&requests[i], latencies, count);
	values_sort(latencies, count);
	out->p50_us = values_rank(latencies, count, 0.5);
	out->p90_us = values_rank(latencies, count, 0.9);
	out->p99_us = values_rank(latencies, count, 0.99);
	out->p999_us = values_rank(latencies, count, 0.999);
	free(latencies);
}

void result_all_online(const struct colocation *run, const struct request_list *requests,
		       struct arm_stats *arm)
{
	unsigned clients = run->online_clients.count;
	struct online_stats *all = &arm->online;

	*all = arm->online_of[0];
	for (unsigned i = 1; i < clients; i++) {
		const struct online_stats *one = &arm->online_of[i];

		all->requests += one->requests;
		all->gpu_busy_ratio += one->gpu_busy_ratio;
		all->gpu_us += one->gpu_us;
		all->keeps_up &= one->keeps_up;
	}
	all->gpu_us /= clients;
	if (clients > 1)
		find_percentiles(requests, clients, all);
}

void result_all_offline(const struct colocation *run, struct arm_stats *arm)
{
	unsigned clients = run->offline_clients.count;
	struct offline_stats *all = &arm->offline;

	*all = arm->offline_of[0];
	if (clients == 1)
		return;
	*all = (struct offline_stats){0};
	for (unsigned i = 0; i < clients; i++)
		all->gpu_us += arm->offline_of[i].gpu_us / clients;
	for (unsigned i = 0; i < clients; i++) {
		const struct offline_stats *one = &arm->offline_of[i];

		all->steps += one->steps * (one->gpu_us / all->gpu_us);
		all->gpu_busy_ratio += one->gpu_busy_ratio;
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

unsigned client_smallest_hold(const struct client_set *clients)
{
	unsigned smallest = clients->count;

	for (unsigned i = 0; i < clients->count; i++) {
		unsigned size = 0;

		for (unsigned k = 0; k < clients->count; k++)
			size += k == i || (clients->groups[i] &&
					   same_text(clients->groups[k], clients->groups[i]));
		if (size < smallest)
			smallest = size;
	}
	return smallest;
}

static bool same_client(const struct client_set *clients, unsigned a, unsigned b)
{
	return same_text(clients->traces[a], clients->traces[b]) &&
	       same_text(clients->groups[a], clients->groups[b]);
}

/* Returns the number of clients from `i` on with the name and group of client `i`; 0 if an earlier
 * client has the same, so that each combination is counted once. */
static unsigned count_same(const struct client_set *clients, unsigned i)
{
	unsigned n = 0;

	for (unsigned k = 0; k < i; k++)
		if (same_client(clients, k, i))
			return 0;
	for (unsigned k = i; k < clients->count; k++)
		n += same_client(clients, k, i);
	return n;
}

const char *result_title(const struct client_set *clients, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");
	bool first = true;

	text[0] = '\0';
	for (unsigned i = 0; out && i < clients->count; i++) {
		unsigned same = count_same(clients, i);
		const char *group = clients->groups[i];

		if (!same)
			continue;
		fprintf(out, "%s", first ? "" : " + ");
		if (same > 1)
			fprintf(out, "%u x ", same);
		fprintf(out, "%s", clients->traces[i]);
		if (group)
			fprintf(out, " (%s)", group);
		first = false;
	}
	if (out)
		fclose(out);
	text[size - 1] = '\0';
	return text;
}

/* ---- several seeds ---- */

/* Offset of a value in struct arm_stats. */
#define AT(member) offsetof(struct arm_stats, member)

/* Returns the value at offset `at` in the struct arm_stats of one seed. */
static double figure(const struct colocation *run, unsigned seed, enum arm arm, size_t at)
{
	double value;

	memcpy(&value, (const char *)&run->by_seed[seed][arm] + at, sizeof(value));
	return value;
}

static void set(struct colocation *run, enum arm arm, size_t at, double value)
{
	memcpy((char *)&run->arms[arm] + at, &value, sizeof(value));
}

double result_median(double *values, unsigned count)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++)
		if (!isnan(values[i]))
			values[n++] = values[i];
	if (n == 0)
		return NAN;
	values_sort(values, n);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double median(const struct colocation *run, enum arm arm, size_t at)
{
	double all[RESULT_SEEDS_MAX];

	for (unsigned seed = 0; seed < run->seeds; seed++)
		all[seed] = figure(run, seed, arm, at);
	return result_median(all, run->seeds);
}

static double sum(const struct colocation *run, enum arm arm, size_t at)
{
	double total = 0;

	for (unsigned seed = 0; seed < run->seeds; seed++)
		total += figure(run, seed, arm, at);
	return total;
}

static struct value_range range(const struct colocation *run, enum arm arm, size_t at)
{
	struct value_range range = {NAN, NAN};

	for (unsigned seed = 0; seed < run->seeds; seed++) {
		range.low = fmin(range.low, figure(run, seed, arm, at));
		range.high = fmax(range.high, figure(run, seed, arm, at));
	}
	return range;
}

static void count_online(struct online_stats *all, const struct online_stats *one)
{
	all->keeps_up &= one->keeps_up;
	all->requests += one->requests;
}

static void count(struct colocation *run, enum arm arm)
{
	struct arm_stats *all = &run->arms[arm];

	all->ran = all->online.keeps_up = true;
	all->level = run->by_seed[0][arm].level;
	for (unsigned i = 0; i < RESULT_CLIENTS_MAX; i++)
		all->online_of[i].keeps_up = true;
	for (unsigned seed = 0; seed < run->seeds; seed++) {
		const struct arm_stats *one = &run->by_seed[seed][arm];

		all->ran &= one->ran;
		if (!one->level)
			all->level = NULL;
		count_online(&all->online, &one->online);
		for (unsigned i = 0; i < run->online_clients.count; i++)
			count_online(&all->online_of[i], &one->online_of[i]);
		all->suspends += one->suspends;
		all->resumes += one->resumes;
		hist_add_all(&all->save, &one->save);
		hist_add_all(&all->restore, &one->restore);
	}
}

static void find_spread(struct colocation *run, enum arm arm)
{
	struct spread *spread = &run->spread[arm];
	double alone = run->arms[ARM_ALONE].offline.steps;

	spread->p50_us = range(run, arm, AT(online.p50_us));
	spread->p90_us = range(run, arm, AT(online.p90_us));
	spread->p99_us = range(run, arm, AT(online.p99_us));
	spread->p999_us = range(run, arm, AT(online.p999_us));
	spread->steps = range(run, arm, AT(offline.steps));
	spread->of_alone = run->arms[ARM_ALONE].ran && alone > 0
				   ? (struct value_range){spread->steps.low / alone,
							  spread->steps.high / alone}
				   : (struct value_range){NAN, NAN};
}

static void set_mean(struct colocation *run, enum arm arm, size_t at)
{
	set(run, arm, at, sum(run, arm, at) / run->seeds);
}

/* Combines online values of the seeds. `at`: offset of the struct online_stats in arm_stats. */
static void combine_online(struct colocation *run, enum arm arm, size_t at)
{
	static const size_t medians[] = {
		offsetof(struct online_stats, p50_us), offsetof(struct online_stats, p90_us),
		offsetof(struct online_stats, p99_us), offsetof(struct online_stats, p999_us)};

	for (unsigned i = 0; i < sizeof(medians) / sizeof(medians[0]); i++)
		set(run, arm, at + medians[i], median(run, arm, at + medians[i]));
	set_mean(run, arm, at + offsetof(struct online_stats, gpu_busy_ratio));
	set_mean(run, arm, at + offsetof(struct online_stats, gpu_us));
}

static void combine_offline(struct colocation *run, enum arm arm, size_t at)
{
	set_mean(run, arm, at + offsetof(struct offline_stats, steps));
	set_mean(run, arm, at + offsetof(struct offline_stats, gpu_busy_ratio));
	set_mean(run, arm, at + offsetof(struct offline_stats, gpu_us));
}

static void combine_arm(struct colocation *run, enum arm arm)
{
	static const size_t sums[] = {AT(suspend_delay_us), AT(resume_delay_us), AT(time.all_us)};

	run->arms[arm] = (struct arm_stats){0};
	count(run, arm);
	combine_online(run, arm, AT(online));
	for (unsigned i = 0; i < run->online_clients.count; i++)
		combine_online(run, arm, AT(online_of[i]));
	combine_offline(run, arm, AT(offline));
	for (unsigned i = 0; i < run->offline_clients.count; i++)
		combine_offline(run, arm, AT(offline_of[i]));
	for (unsigned i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		set(run, arm, sums[i], sum(run, arm, sums[i]));
	for (unsigned i = 0; i < TIME_SHARES; i++)
		set(run, arm, AT(time.us[i]), sum(run, arm, AT(time.us[i])));
}

void result_combine(struct colocation *run)
{
	for (unsigned arm = 0; arm < ARM_COUNT; arm++)
		combine_arm(run, (enum arm)arm);
	for (unsigned arm = 0; arm < ARM_COUNT; arm++)
		find_spread(run, (enum arm)arm);
}
