// SPDX-License-Identifier: MIT
#include "cli/colocate/result.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Computes the percentiles of all requests of all clients. Returns 0 or -ENOMEM. */
static int find_percentiles(const struct request_list *requests, unsigned clients,
			    struct online_stats *out)
{
	size_t room = 1, count = 0;
	double *latencies;

	for (unsigned i = 0; i < clients; i++)
		room += requests[i].count;
	latencies = calloc(room, sizeof(*latencies));
	if (!latencies)
		return -ENOMEM;
	for (unsigned i = 0; i < clients; i++)
		count = add_latencies(&requests[i], latencies, count);
	values_sort(latencies, count);
	out->p50_us = values_rank(latencies, count, 0.5);
	out->p90_us = values_rank(latencies, count, 0.9);
	out->p99_us = values_rank(latencies, count, 0.99);
	out->p999_us = values_rank(latencies, count, 0.999);
	free(latencies);
	return 0;
}

int result_all_online(const struct colocation *run, const struct request_list *requests,
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
	return clients > 1 ? find_percentiles(requests, clients, all) : 0;
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
