/* SPDX-License-Identifier: MIT */
/*
 * Which queues a process had, sample after sample: how many, which ids, how much of the
 * time each of them, and what that means for whoever wants to suspend them.
 *
 * A queue is told by its KFD context and id. One that comes back under its id on another
 * node, of another type or with another ring is another queue, and a change.
 *
 * Pure: no I/O but to a FILE that is handed in, no clock. Threads: one at a time.
 * Ownership: zeroed to begin with, ended by sampling_free(). Errors: -ENOMEM.
 */
#ifndef KFDSHIM_CLI_SAMPLING_H
#define KFDSHIM_CLI_SAMPLING_H

#include <jansson.h>
#include <stdio.h>

#include "scheduler/observe/queue.h"

/* More different queues than that are counted in each sample, and not kept one by one: a
 * process has 1024 at a time. */
#define SAMPLING_QUEUES 16384u

struct sampled_queue {
	uint32_t context, id;
	uint32_t gpu_id;
	struct observe_value type, ring_bytes, ring_address; /* as it was last */
	size_t seen;					     /* samples in which its id was there */
	size_t came;	/* times that it was there and had not been in the sample before */
	size_t another; /* of those and the others, times that it was another queue */
	bool here;	/* in the last sample that knew of ids */
};

struct sampling {
	size_t samples; /* in which somebody knew */
	size_t unknown; /* in which nobody did */
	size_t named;	/* of `samples`: those that told ids, or that there is no queue */
	size_t min, max;
	uint64_t total;
	size_t changes; /* samples that differ from the one before them */
	size_t by_source[OBSERVE_SOURCES];
	size_t unkept; /* entries beyond SAMPLING_QUEUES */

	struct sampled_queue *queue; /* by context, then id */
	size_t count, room;

	/* Of the last sample. */
	size_t now;			 /* its queues */
	size_t now_unnamed;		 /* of those, without an id */
	enum observe_source last_source; /* OBSERVE_NOBODY: it was an unknown one */
	uint64_t fingerprint;		 /* of those without an id */
	/* What changed with it: keys (sampling_key), sorted. */
	uint64_t *came, *gone;
	size_t came_count, gone_count;
	bool changed;
	const struct observe_queue **entry; /* for sampling_add alone */
	size_t change_room;
};

#define SAMPLING_KEY(context, id) ((uint64_t)(context) << 32 | (id))

/* One sample, as `source` told it; OBSERVE_NOBODY: nobody knew. */
int sampling_add(struct sampling *sampling, const struct observe_list *list,
		 enum observe_source source);
void sampling_free(struct sampling *sampling);

enum sampling_verdict {
	SAMPLING_UNKNOWN,  /* no sample in which somebody knew */
	SAMPLING_NONE,	   /* never a queue */
	SAMPLING_UNNAMED,  /* queues without ids */
	SAMPLING_ONCE,	   /* one sample says nothing of stability */
	SAMPLING_STABLE,   /* the same queues in each */
	SAMPLING_CHANGING, /* others in some */
	SAMPLING_VERDICTS
};
enum sampling_verdict sampling_verdict(const struct sampling *sampling);
/* "unknown", "none", "unnamed", "once", "stable", "changing". */
const char *sampling_verdict_name(enum sampling_verdict verdict);

/* "0-3,7", and "0-3,7, context 1: 0-1" where there are several contexts. */
void sampling_ranges(const uint64_t *keys, size_t count, FILE *out);
/* The same of those in the last sample; nothing where there is none with an id. */
void sampling_ids(const struct sampling *sampling, FILE *out);
/* How many queues, a line: "queues: 24 in each of 7 samples, stable; told by sysfs". */
void sampling_counts(const struct sampling *sampling, FILE *out);
/* Each queue with the share of samples in which it was there, as a table. */
int sampling_table(const struct sampling *sampling, FILE *out);
/* docs/formats.md, kfdsched monitor --json. NULL: no memory. */
json_t *sampling_json(const struct sampling *sampling);
/* What that means for preemption, one sentence in plain words. `whose`: what a command
 * would call the process, its pid. Returns `text`. */
#define SAMPLING_MEANING 512
const char *sampling_meaning(const struct sampling *sampling, const char *whose,
			     char text[static SAMPLING_MEANING]);

#endif
