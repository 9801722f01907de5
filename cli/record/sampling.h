/* SPDX-License-Identifier: MIT */
/*
 * Statistics of the queues of one process over a series of samples: how many queues there were,
 * which ids, in which share of the samples each one was present, and what this means for a caller
 * that wants to suspend them.
 *
 * A queue is identified by its KFD context and id. If an id appears again on another node, with
 * another type or with another ring, that is another queue, and counts as a change.
 *
 * Pure: no clock, and no I/O except to a FILE that the caller passes. Threads: one at a time.
 * Ownership: the caller zeroes a struct sampling once and frees it by sampling_free().
 */
#ifndef KFDSHIM_CLI_RECORD_SAMPLING_H
#define KFDSHIM_CLI_RECORD_SAMPLING_H

#include <jansson.h>
#include <stdio.h>

#include "cli/inspect/queue_view.h"
#include "cli/output/fields.h"
#include "kfd/gpu_name.h"

/* Limit of the different queues that are tracked one by one. Further ones are counted in each
 * sample only. A process has at most 1024 queues at a time. */
#define SAMPLING_QUEUES 16384u

struct sampled_queue {
	uint32_t context, id;
	uint32_t gpu_id;
	struct observe_value type, ring_bytes, ring_address; /* most recent values */
	/* Samples in which the id was present. */
	size_t seen;
	size_t came; /* samples in which it was present, but not in the one before */
	/* Samples in which the id belonged to another queue than before. */
	size_t another;
	bool here; /* present in the last sample that had ids */
};

struct sampling {
	size_t samples; /* samples in which a source knew the queues */
	size_t unknown; /* samples in which no source did */
	size_t named;	/* part of `samples` that had ids, or had no queue */
	/* Lowest and highest number of queues in a sample, and the sum of all samples. */
	size_t min, max;
	uint64_t total;
	size_t changes; /* samples that differ from the one before */
	size_t by_source[OBSERVE_SOURCES];
	size_t unkept; /* entries that exceeded SAMPLING_QUEUES and were not tracked */

	struct sampled_queue *queue; /* ordered by context, then id */
	size_t count, room;

	/* The last sample. */
	size_t now;			 /* number of queues */
	size_t now_unnamed;		 /* number of queues without an id */
	enum observe_source last_source; /* OBSERVE_NO_SOURCE: no source knew the queues */
	uint64_t fingerprint;		 /* sum of the hashes of the queues without an id */
	/* Changes of the last sample: SAMPLING_KEYs, sorted. */
	uint64_t *came, *gone;
	size_t came_count, gone_count;
	bool changed;
	const struct observe_queue **entry; /* scratch of sampling_add() */
	size_t change_room;
};

#define SAMPLING_KEY(context, id) ((uint64_t)(context) << 32 | (id))

/* Adds one sample: the queues that `source` reported. `source` OBSERVE_NO_SOURCE: no source knew
 * the queues, and `list` is not read. */
void sampling_add(struct sampling *sampling, const struct observe_list *list,
		  enum observe_source source);
/* Returns true if both types are known and not the same. sysfs reports AQL and PM4 queues alike, as
 * compute, which differs from neither. */
bool sampling_types_differ(const struct observe_value *a, const struct observe_value *b);
/* Returns the share of the samples with known ids in which the queue was present; NULL: 0. */
double sampling_share(const struct sampling *sampling, const struct sampled_queue *queue);
/* Frees the statistics, which can then be used again. */
void sampling_free(struct sampling *sampling);

enum sampling_verdict {
	SAMPLING_UNKNOWN,  /* no sample in which a source knew the queues */
	SAMPLING_NONE,	   /* no queue in any sample */
	SAMPLING_UNNAMED,  /* queues, but none with an id */
	SAMPLING_ONCE,	   /* a single sample, which cannot show stability */
	SAMPLING_STABLE,   /* the same queues in each sample */
	SAMPLING_CHANGING, /* other queues in some samples */
	SAMPLING_VERDICTS
};
/* Returns the verdict on all samples so far. */
enum sampling_verdict sampling_verdict(const struct sampling *sampling);

/* Prints sorted SAMPLING_KEYs as ranges: "0-3,7", or "0-3,7, context 1: 0-1" if there are
 * several contexts. */
void sampling_ranges(const uint64_t *keys, size_t count, FILE *out);
/* Prints the ids of the last sample as ranges; nothing if no queue had an id. */
void sampling_ids(const struct sampling *sampling, FILE *out);
/* Prints one line with the number of queues, the stability and the sources: "queues: 24 in each of
 * 7 samples, stable; source sysfs". */
void sampling_counts(const struct sampling *sampling, FILE *out);
/* Prints a table: each queue with the share of the samples in which it was present. `gpus`, `n`:
 * names of the GPUs of the sampled machine; a GPU that is not in the list is shown by its
 * gpu_id. */
void sampling_table(const struct sampling *sampling, const struct gpu_name *gpus, size_t n,
		    FILE *out);
/* Returns the statistics as JSON (docs/reference/recordings.md, kfdsched monitor --json). */
json_t *sampling_json(const struct sampling *sampling);
/* JSON fields of the statistics, with and without the queues, and of a queue. */
extern const struct field fields_sampled[], fields_sampled_basics[], fields_sampled_queue[];
/* Writes one sentence for the user about what the statistics mean for preemption. `whose`: the pid
 * or name by which a kfdsched command would name the process. Returns `text`. */
#define SAMPLING_MEANING 512
const char *sampling_meaning(const struct sampling *sampling, const char *whose,
			     char text[static SAMPLING_MEANING]);

#endif
