/* SPDX-License-Identifier: MIT */
/*
 * The same queues as each source tells them, side by side, and where they differ.
 *
 * Sources are read one after the other, so what changes in between differs without any of
 * them being wrong: verify_keep() leaves what differs again when they are read again.
 *
 * What is no difference: a value that a source does not tell; a queue that no hardware slot
 * has now (it is held, evicted or waits for its turn); the lowest priority in a descriptor
 * where the shim tells what the process set (level weight holds it back so); CU masks, of
 * which the shim counts what was asked for and the driver what there is; queues of the render node (DRM),
 * which KFD does not know; queues of a process's further KFD contexts, which a debugger's
 * snapshot and sysfs' first folder do not have.
 *
 * Pure. Threads: any. Errors: -ENOMEM.
 */
#ifndef KFDSHIM_OBSERVE_VERIFY_H
#define KFDSHIM_OBSERVE_VERIFY_H

#include "scheduler/kfd/topology.h"
#include "scheduler/observe/observe.h"

/* The sources that list queues, in their order. */
#define FOR_VERIFIED(source)                                                                       \
	for (enum observe_source source = OBSERVE_DAEMON; source <= OBSERVE_HQD; source++)         \
		if (source != OBSERVE_MEMORY)

/* How a source has a queue. */
enum verify_told {
	VERIFY_NO_ANSWER, /* the source was not asked, or did not answer */
	VERIFY_NOT,	  /* it does not have it */
	VERIFY_ALIKE,	  /* it has as many of that node, engine and ring size, and does not
			     say which is which */
	VERIFY_TOLD
};

/* Points into the observation. */
struct verify_row {
	const struct observe_queue *queue; /* by all sources together */
	enum verify_told told[OBSERVE_SOURCES];
	const struct observe_queue *by[OBSERVE_SOURCES]; /* as that source has it; NULL */
};

enum verify_what {
	VERIFY_MISSING,	  /* `b` does not have the queue, `a` has */
	VERIFY_FIELD,	  /* they do not tell the same of `field` */
	VERIFY_NODE,	  /* nor of its GPU */
	VERIFY_MQD_COUNT, /* not a descriptor for each XCC */
	VERIFY_HQD_COUNT, /* active in some XCCs and not in others */
};

struct verify_difference {
	enum verify_what what;
	uint32_t context, id, gpu_id; /* the queue; OBSERVE_NO_ID as usual */
	uint64_t ring;		      /* 0: not known */
	enum observe_field field;
	enum observe_source a, b;
	uint64_t value_a, value_b;
};

enum verify_verdict { VERIFY_AGREE, VERIFY_DIFFER, VERIFY_CANNOT_TELL };

struct verify {
	struct verify_row *row;
	size_t rows;
	struct verify_difference *difference;
	size_t differences, room;
	uint32_t witnesses; /* OBSERVE_BIT of who listed queues, each by itself */
	size_t alike;	    /* rows that some source has only so */
	size_t lowered;	    /* rows whose priority is the lowest, as level weight has it */
};

/* Fills *out, which is zeroed or of an earlier call. gpus: of this machine; may be none. */
int verify_compare(const struct observation *observation, const struct topology_gpu *gpus,
		   size_t n_gpus, struct verify *out);
/* Leaves in *now the differences that were in *before too; the values may have changed. */
void verify_keep(struct verify *now, const struct verify *before);
void verify_free(struct verify *verify);

/* CANNOT_TELL: fewer than two sources that know of each other nothing. */
enum verify_verdict verify_verdict(const struct verify *verify);

/* "queue 3 (node 12440): sysfs says ring_bytes 4 KiB, mqd 8 KiB". Returns `text`. */
#define VERIFY_TEXT 192
const char *verify_sentence(char text[VERIFY_TEXT], const struct verify_difference *difference);

#endif
