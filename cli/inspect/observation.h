/* SPDX-License-Identifier: MIT */
/*
 * An observation: what all sources report about the queues of one process at one moment.
 *
 * Ownership: the caller zeroes a struct observation once, can use it for any number of samples, and
 * ends it by observation_free(). Threads: any, one at a time for each observation.
 */
#ifndef KFDSHIM_CLI_INSPECT_OBSERVATION_H
#define KFDSHIM_CLI_INSPECT_OBSERVATION_H

#include "cli/inspect/queue_view.h"

#define OBSERVE_WHY 256 /* bytes of a buffer for one sentence, with its NUL */

/* Sources that kfdsched queues and other commands query by default: all but OBSERVE_TRAP. */
enum {
	OBSERVE_ALL = OBSERVE_BIT(OBSERVE_DAEMON) | OBSERVE_BIT(OBSERVE_SHM) |
		      OBSERVE_BIT(OBSERVE_SYSFS) | OBSERVE_BIT(OBSERVE_MEMORY) |
		      OBSERVE_BIT(OBSERVE_MQD) | OBSERVE_BIT(OBSERVE_HQD)
};

/* Result of one source in a sample. */
struct observe_result {
	bool queried; /* the source was queried in this sample */
	int error;    /* 0; -ENOENT: no data about this process; others: `why` has the reason */
	char why[OBSERVE_WHY]; /* one sentence if error != 0 */
	struct observe_list list;
	size_t unmatched; /* entries of `list` that could not be joined to a queue id */
};

/* One sample: the result of each source, and the queues joined from all of them. */
struct observation {
	uint32_t listed; /* OBSERVE_BIT()s of the sources that listed queues by id */
	struct observe_list queues;
	struct observe_result result[OBSERVE_SOURCES];
};

/* Removes all results and queues, and keeps the memory for the next sample. */
void observation_clear(struct observation *observation);
/* Frees the memory of an observation and zeroes it. */
void observation_free(struct observation *observation);

/*
 * Returns the queues of the sample: the joined queues if a source listed ids, else those of debugfs
 * kfd/mqds, which have no ids. *source: the source with the smallest number that listed them.
 *
 * If no source listed queues, *source is OBSERVE_NO_SOURCE. *error and *why are the error of the
 * last source that failed and its reason.
 */
const struct observe_list *observation_queues(const struct observation *observation,
					      enum observe_source *source, int *error,
					      const char **why);

#endif
