/* SPDX-License-Identifier: MIT */
/*
 * Compares what each source reports about the same queues (kfdsched verify).
 *
 * The sources are read one after the other, so a change in between appears as a difference. To
 * filter such differences out, the caller samples twice: verify_keep() keeps only the differences
 * that appear in both comparisons.
 *
 * The following is not counted as a difference:
 * - a value that a source does not report;
 * - a queue that is in no hardware slot now, because it is suspended, evicted or waits for a slot;
 * - the lowest priority in an MQD while the shim reports the priority that the process set: at
 *   PROTOCOL_LEVEL_WEIGHT the shim lowers the priority to hold a process back;
 * - CU masks, because the shim counts the CUs that were requested, and the driver those that exist;
 * - queues of the render node (DRM), which KFD does not know;
 * - queues of further KFD contexts of the process, which are not in a debug session's snapshot, nor
 *   in the first sysfs directory of the process.
 *
 * Pure. Threads: any.
 */
#ifndef KFDSHIM_CLI_INSPECT_VERIFY_H
#define KFDSHIM_CLI_INSPECT_VERIFY_H

#include "cli/inspect/queue_view.h"
#include "kfd/topology.h"

/* Loops over the sources that list queues, in the order of enum observe_source. */
#define FOR_VERIFIED(source)                                                                       \
	for (enum observe_source source = OBSERVE_DAEMON; source <= OBSERVE_HQD; source++)         \
		if (source != OBSERVE_MEMORY)

/* How a source reports a queue. */
enum verify_reported {
	VERIFY_NO_RESULT, /* the source was not queried, or failed */
	VERIFY_NOT,	  /* the source does not list the queue */
	VERIFY_ALIKE, /* the source lists a queue of the same node, engine and ring size, but it is
			     not known whether it is this one */
	VERIFY_REPORTED /* the source lists the queue */
};

/* One queue and what each source reports about it. The pointers point into the observation. */
struct verify_row {
	const struct observe_queue *queue;		 /* joined from all sources */
	enum verify_reported reported[OBSERVE_SOURCES];	 /* by source */
	const struct observe_queue *by[OBSERVE_SOURCES]; /* the source's entry; NULL: none */
};

enum verify_what {
	VERIFY_MISSING,	  /* source a lists the queue, source b does not */
	VERIFY_FIELD,	  /* a and b report different values of `field` */
	VERIFY_NODE,	  /* a and b report different GPUs */
	VERIFY_MQD_COUNT, /* number of MQDs differs from the number of XCCs */
	VERIFY_HQD_COUNT, /* queue is active on some XCCs, but not on all */
};

struct verify_difference {
	enum verify_what what;
	uint32_t context, id, gpu_id; /* of the queue; id can be OBSERVE_NO_ID */
	uint64_t ring;		      /* address of the ring buffer; 0: not known */
	enum observe_field field;     /* VERIFY_FIELD only */
	enum observe_source a, b;     /* VERIFY_*_COUNT: b only */
	/* VERIFY_FIELD: the two values. VERIFY_*_COUNT: XCCs of the node, and the number found. */
	uint64_t value_a, value_b;
};

enum verify_verdict { VERIFY_AGREE, VERIFY_DIFFER, VERIFY_UNCERTAIN };

struct verify {
	struct verify_row *row;
	size_t rows;
	struct verify_difference *difference;
	size_t differences, room;
	uint32_t witnesses; /* OBSERVE_BIT()s of the independent sources that listed queues */
	size_t alike;	    /* number of rows with VERIFY_ALIKE in at least one source */
	size_t lowered;	    /* queues whose MQD has the lowest priority (PROTOCOL_LEVEL_WEIGHT) */
};

/*
 * Compares all sources of an observation. *out is zeroed, or from an earlier call; the rows of *out
 * point into the observation, which must stay unchanged as long as the rows are used.
 * gpus: topology of this machine; n_gpus can be 0.
 */
void verify_compare(const struct observation *observation, const struct topology_gpu *gpus,
		    size_t n_gpus, struct verify *out);
/* Removes from *now each difference that *before does not have. Differences are compared without
 * their values. */
void verify_keep(struct verify *now, const struct verify *before);
/* Frees the memory of a comparison and zeroes it. */
void verify_free(struct verify *verify);

/* Returns VERIFY_DIFFER if there is a difference. If there is none, returns VERIFY_AGREE if at
 * least two independent sources listed queues, else VERIFY_UNCERTAIN. */
enum verify_verdict verify_verdict(const struct verify *verify);

/* Writes a difference as a sentence: "queue 3 (GPU 0): ring_bytes is 4 KiB in sysfs, and 8 KiB in
 * mqd". gpu: short name of the GPU. Returns `text`. */
#define VERIFY_TEXT 256
const char *verify_text(char text[VERIFY_TEXT], const struct verify_difference *difference,
			const char *gpu);

#endif
