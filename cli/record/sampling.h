/* SPDX-License-Identifier: MIT */
/*
 * Statistics of the queues of one process over a series of samples: how many queues there were,
 * which ids, in which share of the samples each one was present, and what this means for suspending
 * them.
 *
 * A queue is identified by its KFD context and id. If an id appears again on another node, with
 * another type or with another ring, it belongs to a different queue, and that counts as a change.
 *
 * Pure: no clock, and no I/O except to a FILE that the caller passes. Threads: one at a time.
 * Ownership: the caller zeroes a struct sampling once and frees it by sampling_free().
 */
#ifndef KFDSHIM_CLI_RECORD_SAMPLING_H
#define KFDSHIM_CLI_RECORD_SAMPLING_H

#include "cli/inspect/queue_view.h"
#include "cli/output/fields.h"
#include "kfd/gpu_name.h"

/* Maximum number of different queues (context and id) that are tracked one by one over all samples.
 * Further queues count only in the number of queues of each sample. A process has at most 1024
 * queues at a time. */
#define SAMPLING_QUEUES 16384u

struct sampled_queue {
	uint32_t context, id;
	uint32_t gpu_id;
	struct observe_value type, ring_bytes, ring_address; /* most recent values */
	/* Samples in which the id was present. */
	size_t seen;
	size_t came; /* samples with the id that follow a sample without it */
	/* Samples in which the id belonged to another queue than before. */
	size_t another;
	bool here; /* present in the latest sample that had ids */
};

struct sampling {
	size_t samples; /* samples in which a source knew the queues */
	size_t unknown; /* samples in which no source knew the queues */
	size_t named;	/* part of `samples` in which the ids were known, or no queue existed */
	/* Lowest and highest number of queues in a sample, and the sum of all samples. */
	size_t min, max;
	uint64_t total;
	size_t changes; /* samples that differ from the one before */
	size_t by_source[OBSERVE_SOURCES];
	size_t unkept; /* entries of queues beyond SAMPLING_QUEUES, which were not tracked */

	struct sampled_queue *queue; /* ordered by context, then id */
	size_t count, room;

	/* The latest sample. */
	size_t now;			 /* number of queues */
	size_t now_unnamed;		 /* number of queues without an id */
	enum observe_source last_source; /* OBSERVE_NO_SOURCE: no source knew the queues */
	uint64_t fingerprint;		 /* sum of the hashes of the queues without an id */
	/* Changes in the latest sample, as sorted SAMPLING_KEYs. came: queues that are new. gone:
	 * queues that were only in the sample before. */
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
/* Returns true if both types are known and differ. The type "compute" does not differ from AQL and
 * PM4, because sysfs reports both as "compute". */
bool sampling_types_differ(const struct observe_value *a, const struct observe_value *b);
/* Returns in which share of the samples with known ids the queue was present, 0 to 1; 0 if `queue`
 * is NULL. */
double sampling_share(const struct sampling *sampling, const struct sampled_queue *queue);
/* Frees the statistics, which can then be used again. */
void sampling_free(struct sampling *sampling);

enum sampling_verdict {
	SAMPLING_UNKNOWN,  /* no sample in which a source knew the queues */
	SAMPLING_NONE,	   /* no queue in any sample */
	SAMPLING_UNNAMED,  /* queues, but none with an id */
	SAMPLING_ONCE,	   /* a single sample, which cannot show stability */
	SAMPLING_STABLE,   /* the same queues in each sample */
	SAMPLING_CHANGING, /* the queues differ between samples */
	SAMPLING_VERDICTS
};
/* Returns the verdict on all samples so far. */
enum sampling_verdict sampling_verdict(const struct sampling *sampling);

/* Prints sorted SAMPLING_KEYs as ranges: "0-3,7", or "0-3,7, context 1: 0-1" if there are
 * several contexts. */
void sampling_ranges(const uint64_t *keys, size_t count, FILE *out);
/* Prints the ids of the latest sample as ranges; nothing if no queue had an id. */
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
/* JSON fields, in this order: of the statistics with the queues, of the statistics without them, of
 * a queue. */
extern const struct field fields_sampled[], fields_sampled_basics[], fields_sampled_queue[];
/* Writes one sentence for the user to `text`: what the statistics mean for preemption. `whose`: the
 * pid or name by which a kfdsched command would name the process. Returns `text`. */
#define SAMPLING_MEANING 512
const char *sampling_meaning(const struct sampling *sampling, const char *whose,
			     char text[static SAMPLING_MEANING]);

#endif
