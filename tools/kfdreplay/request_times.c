// SPDX-License-Identifier: MIT
#include "tools/kfdreplay/request_times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of requests; with 24 bytes each that is 2.4 GB. */
#define REQUESTS_MAX 100000000u

int request_times_open(struct request_times *times, const struct arrivals *arrivals,
		       uint64_t window_ns, uint64_t requests)
{
	struct arrivals ahead = *arrivals;
	size_t room = 1; /* for the request that ends the count below */

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
	 * compiler may turn malloc() and memset(0) into calloc(), which does not write the pages. */
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
