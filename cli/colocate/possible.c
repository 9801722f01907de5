// SPDX-License-Identifier: MIT
#include "cli/colocate/possible.h"

#include <errno.h>
#include <stdlib.h>

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

static int compare(double x, double y)
{
	return (x > y) - (x < y);
}

static int compare_arrivals(const void *a, const void *b)
{
	return compare(((const struct possible_request *)a)->due_us,
		       ((const struct possible_request *)b)->due_us);
}

void possible_merge(struct possible_request *requests, size_t count)
{
	qsort(requests, count, sizeof(*requests), compare_arrivals);
}

static int compare_values(const void *a, const void *b)
{
	return compare(*(const double *)a, *(const double *)b);
}

void values_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_values);
}

double values_rank(const double *sorted, size_t count, double p)
{
	return count ? sorted[(size_t)ceil(p * (double)count) - 1] : NAN;
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
	latency_us = malloc((count + 1) * sizeof(*latency_us));
	if (!latency_us)
		return -ENOMEM;
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
