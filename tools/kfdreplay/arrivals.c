// SPDX-License-Identifier: MIT
#include "tools/kfdreplay/arrivals.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* Returns the next number of splitmix64 (Steele, Lea, Flood 2014). Any seed is good, also 0. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void arrivals_start(struct arrivals *arrivals, enum arrivals_kind kind, double rate_per_s,
		    uint64_t seed)
{
	*arrivals = (struct arrivals){.kind = kind, .gap_ns = 1e9 / rate_per_s, .state = seed};
	if (kind == ARRIVALS_BURSTY)
		arrivals->gap_ns *= (double)ARRIVALS_BURST_NS / ARRIVALS_PERIOD_NS;
}

void arrivals_start_recorded(struct arrivals *arrivals, const struct arrivals_gaps *gaps,
			     double rate_per_s, uint64_t seed)
{
	arrivals_start(arrivals, ARRIVALS_RECORDED, rate_per_s, seed);
	arrivals->gaps = gaps;
	if (seed > 1)
		arrivals->next = (size_t)(next_random(&arrivals->state) % gaps->count);
}

static double next_gap_ns(struct arrivals *arrivals)
{
	const struct arrivals_gaps *gaps = arrivals->gaps;
	double u, gap;

	switch (arrivals->kind) {
	case ARRIVALS_POISSON:
	case ARRIVALS_BURSTY:
		/* u is in (0, 1], so that the logarithm of 0 cannot occur. */
		u = ((double)(next_random(&arrivals->state) >> 11) + 1) * 0x1p-53;
		return arrivals->gap_ns * -log(u);
	case ARRIVALS_RECORDED:
		gap = gaps->ns[arrivals->next];
		arrivals->next = (arrivals->next + 1) % gaps->count;
		return arrivals->gap_ns * gap / gaps->mean_ns;
	case ARRIVALS_FIXED:
		break;
	}
	return arrivals->gap_ns;
}

uint64_t arrivals_next(struct arrivals *arrivals)
{
	arrivals->at_ns += next_gap_ns(arrivals);
	if (arrivals->kind != ARRIVALS_BURSTY)
		return (uint64_t)arrivals->at_ns;
	return (uint64_t)arrivals->at_ns / ARRIVALS_BURST_NS * ARRIVALS_PERIOD_NS +
	       (uint64_t)arrivals->at_ns % ARRIVALS_BURST_NS;
}

#define GAP_US_MAX 1e12

static int add(struct arrivals_gaps *gaps, size_t *room, double us)
{
	if (ARRAY_GROW(gaps->ns, *room, gaps->count + 1))
		return -ENOMEM;
	gaps->ns[gaps->count++] = us * 1e3;
	gaps->mean_ns += us * 1e3; /* the sum, until arrivals_file_read() divides it */
	return 0;
}

/* Parses a line of the file, which contains the interval before an arrival in us. Returns false if
 * the line is invalid. Returns true and sets *skip if it is a comment or empty. */
static bool parse_line(char *line, double *us, bool *skip)
{
	char *end;

	line += strspn(line, " \t");
	*skip = strchr("#\r\n", *line) != NULL;
	if (*skip)
		return true;
	errno = 0;
	*us = strtod(line, &end);
	return (*line == '.' || (*line >= '0' && *line <= '9')) && errno == 0 && *us >= 0 &&
	       *us <= GAP_US_MAX && end[strspn(end, " \t\r\n")] == '\0';
}

static int read_lines(FILE *file, const char *path, struct arrivals_gaps *out, char *error,
		      size_t error_size)
{
	char *line = NULL;
	size_t size = 0, room = 0, number = 0;
	int rc = 0;

	while (rc == 0 && getline(&line, &size, file) >= 0) {
		double us = 0;
		bool skip;

		number++;
		if (!parse_line(line, &us, &skip)) {
			snprintf(error, error_size,
				 "%s:%zu: not an interval in microseconds, from 0 to 1e12", path,
				 number);
			rc = -EINVAL;
		} else if (!skip && (rc = add(out, &room, us)) != 0) {
			snprintf(error, error_size, "%s: out of memory", path);
		}
	}
	free(line);
	if (rc == 0 && ferror(file)) {
		snprintf(error, error_size, "%s: cannot be read: %s", path, strerror(errno));
		rc = -EIO;
	}
	if (rc == 0 && !(out->mean_ns > 0)) {
		snprintf(error, error_size, "%s: has no interval above 0", path);
		rc = -EINVAL;
	}
	return rc;
}

int arrivals_file_read(const char *path, struct arrivals_gaps *out, char *error, size_t error_size)
{
	FILE *file = fopen(path, "re");
	int rc;

	*out = (struct arrivals_gaps){0};
	if (!file) {
		rc = -errno;
		snprintf(error, error_size, "%s: cannot be opened: %s", path, strerror(errno));
		return rc;
	}
	rc = read_lines(file, path, out, error, error_size);
	fclose(file);
	if (rc)
		arrivals_file_free(out);
	else
		out->mean_ns /= (double)out->count;
	return rc;
}

void arrivals_file_free(struct arrivals_gaps *gaps)
{
	free(gaps->ns);
	*gaps = (struct arrivals_gaps){0};
}

/* ---- times of requests ---- */

/* Maximum number of requests; with 24 bytes each that is 2.4 GB. */
#define REQUESTS_MAX 100000000u

int request_times_open(struct request_times *times, const struct arrivals *arrivals,
		       uint64_t window_ns, uint64_t requests)
{
	struct arrivals ahead = *arrivals;
	size_t room = 1; /* for the request at which the loop below ends */

	if (requests == 0)
		requests = UINT64_MAX;
	while (room <= REQUESTS_MAX && room <= requests && arrivals_next(&ahead) <= window_ns)
		room++;
	*times = (struct request_times){0};
	if (room > REQUESTS_MAX)
		return -ENOMEM;
	times->spans = malloc(room * sizeof(*times->spans));
	if (!times->spans)
		return -ENOMEM;
	/* Write all pages now, so that no page fault occurs during the run. Not with zeros: a
	 * compiler may turn malloc() and memset(0) into calloc(), which does not write the
	 * pages. */
	memset(times->spans, 0xff, room * sizeof(*times->spans));
	times->room = room;
	return 0;
}

void request_times_free(struct request_times *times)
{
	free(times->spans);
	*times = (struct request_times){0};
}

void request_times_begin(struct request_times *times, uint64_t due_ns, uint64_t begin_ns)
{
	if (times->count < times->room)
		times->spans[times->count++] =
			(struct request_span){.due_ns = due_ns, .begin_ns = begin_ns};
}

void request_times_end(struct request_times *times, uint64_t end_ns)
{
	if (times->count > 0 && !times->spans[times->count - 1].end_ns)
		times->spans[times->count - 1].end_ns = end_ns;
}

static void put_span(FILE *file, const struct request_span *span)
{
	fprintf(file, "%.3f,%.3f,", (double)span->due_ns / 1e3, (double)span->begin_ns / 1e3);
	if (span->end_ns)
		fprintf(file, "%.3f", (double)span->end_ns / 1e3);
	fputc('\n', file);
}

int request_times_write(const struct request_times *times, const char *path, char *why,
			size_t why_size)
{
	FILE *file = fopen(path, "we");
	bool good = file != NULL;

	if (file) {
		fputs("due_us,begin_us,end_us\n", file);
		for (size_t i = 0; i < times->count; i++)
			put_span(file, &times->spans[i]);
		good = !ferror(file);
		good &= fclose(file) == 0;
	}
	if (good)
		return 0;
	snprintf(why, why_size, "%s: cannot be written: %s", path, strerror(errno));
	return -EIO;
}

/* ---- latencies ---- */

int stats_add(struct stats *stats, uint64_t latency_ns)
{
	if (ARRAY_GROW(stats->latency_ns, stats->room, stats->count + 1))
		return -ENOMEM;
	stats->latency_ns[stats->count++] = latency_ns;
	return 0;
}

void stats_free(struct stats *stats)
{
	free(stats->latency_ns);
	*stats = (struct stats){0};
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns a sorted copy, or NULL if there is no memory or count is 0. */
static uint64_t *sorted(const uint64_t *values, size_t count)
{
	uint64_t *copy = count ? malloc(count * sizeof(*copy)) : NULL;

	if (copy) {
		memcpy(copy, values, count * sizeof(*copy));
		qsort(copy, count, sizeof(*copy), compare);
	}
	return copy;
}

static double rank_us(const uint64_t *values, size_t count, double p)
{
	size_t rank = (size_t)ceil(p * (double)count);

	return (double)values[rank ? rank - 1 : 0] / 1e3;
}

int stats_summarise(const struct stats *stats, struct stats_summary *out)
{
	size_t n = stats->count;
	uint64_t *values;
	double sum = 0;

	*out = (struct stats_summary){0};
	if (n == 0)
		return 0;
	values = sorted(stats->latency_ns, n);
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sum += (double)values[i];
	*out = (struct stats_summary){
		.mean_us = sum / (double)n / 1e3,
		.p50_us = rank_us(values, n, 0.5),
		.p90_us = rank_us(values, n, 0.9),
		.p99_us = rank_us(values, n, 0.99),
		.p999_us = rank_us(values, n, 0.999),
		.max_us = rank_us(values, n, 1.0),
	};
	free(values);
	return 0;
}

/* Returns the median, or 0 if there is no memory for a sorted copy. That error is not reported
 * here, because stats_summarise(), which needs more memory, fails then, too. */
static double median(const uint64_t *values, size_t count)
{
	uint64_t *copy = sorted(values, count);
	double result = copy ? rank_us(copy, count, 0.5) : 0;

	free(copy);
	return result;
}

bool stats_keeps_up(const struct stats *stats, uint64_t arrived)
{
	size_t n = stats->count, quarter = n / 4;
	uint64_t backlog = arrived > n ? arrived - n : 0;

	if ((double)n * 10 < (double)arrived)
		return false;
	if (backlog <= 5 || (double)backlog * 10 <= (double)arrived)
		return true;
	if (n < 8)
		return false;
	return median(stats->latency_ns + n - quarter, quarter) <=
	       1.5 * median(stats->latency_ns + quarter, quarter);
}
