/* SPDX-License-Identifier: MIT */
/*
 * Records when each request of an open loop arrived, began and ended (docs/reference/kfdreplay.md).
 * The memory is allocated and written before the run, so that recording a request costs two stores
 * only.
 *
 * Times are model time, in ns from the start of the run. Threads: the caller's one.
 */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_REQUEST_TIMES_H
#define KFDSHIM_TOOLS_KFDREPLAY_REQUEST_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "tools/kfdreplay/arrivals.h"

struct request_times {
	struct request_span {
		uint64_t due_ns, begin_ns, end_ns; /* end_ns 0: not complete within the window */
	} * spans;
	size_t count, room;
};

/*
 * Allocates memory for the requests that will arrive within `window_ns`, at most `requests` of them
 * (0: no limit). arrivals: the sequence of the run, before its first arrival; it is not changed.
 * Returns 0 or -ENOMEM (also for more than 100 million requests).
 */
int request_times_open(struct request_times *times, const struct arrivals *arrivals,
		       uint64_t window_ns, uint64_t requests);
void request_times_free(struct request_times *times);
/* Records the begin of a request. */
void request_times_begin(struct request_times *times, uint64_t due_ns, uint64_t begin_ns);
/* Records the end of the request that began last. */
void request_times_end(struct request_times *times, uint64_t end_ns);
/* Writes the times as CSV. Returns 0, or -EIO with a sentence in `why`. */
int request_times_write(const struct request_times *times, const char *path, char *why,
			size_t why_size);

#endif
