/* SPDX-License-Identifier: MIT */
/*
 * When each request of an open loop arrived, began and ended: docs/formats.md. The memory is
 * allocated and written before the run, so that a request costs two stores.
 *
 * Model time, nanoseconds from the start of the run. Threads: the caller's one.
 */
#ifndef KFDSHIM_REPLAY_REQUEST_TIMES_H
#define KFDSHIM_REPLAY_REQUEST_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "replay/arrivals.h"

struct request_times {
	struct request_span {
		uint64_t due_ns, begin_ns, end_ns; /* end 0: not done within the window */
	} * spans;
	size_t count, room;
};

/* Makes room for the requests of a run whose arrivals begin as in *arrivals, which is not
 * changed: up to `requests` (0: no limit), within `window_ns`. -ENOMEM. */
int request_times_open(struct request_times *times, const struct arrivals *arrivals,
		       uint64_t window_ns, uint64_t requests);
void request_times_free(struct request_times *times);
void request_times_begin(struct request_times *times, uint64_t due_ns, uint64_t begin_ns);
/* The end of the request that began last. */
void request_times_end(struct request_times *times, uint64_t end_ns);
/* 0, or -EIO with a sentence in `why`. */
int request_times_write(const struct request_times *times, const char *path, char *why,
			size_t why_size);

#endif
