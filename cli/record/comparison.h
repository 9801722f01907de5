/* SPDX-License-Identifier: MIT */
/*
 * Compares two analyses, of recordings or of running processes: which queues both have, whether
 * queue ids can be predicted from one run to the next, how many packets waited on either side, and
 * whether both use the same GPUs and fit into their hardware slots.
 *
 * The processes of each side are sorted by pid, and the first is compared with the first, the
 * second with the second, because KFD numbers the queues of each process separately.
 *
 * Pure, except for compare_show(). Threads: one at a time. Ownership: comparison_make() fills a
 * struct comparison, which the caller frees by comparison_free(). The two analyses are borrowed and
 * have to outlive it.
 */
#ifndef KFDSHIM_CLI_RECORD_COMPARISON_H
#define KFDSHIM_CLI_RECORD_COMPARISON_H

#include <jansson.h>

#include "cli/inspect/process.h"
#include "cli/record/analysis.h"

enum comparison_where {
	COMPARED_BOTH,	  /* same id, same node, same type */
	COMPARED_DIFFERS, /* same id, but another node or type */
	COMPARED_A,	  /* only in the first analysis */
	COMPARED_B,	  /* only in the second analysis */
	COMPARED_KINDS
};

struct compared_queue {
	enum comparison_where where;
	const char *where_name; /* JSON word: "both", "differs", "only_a", "only_b" */
	size_t process;		/* index in comparison.process of the pair that has the queue */
	uint32_t context, id;
	const struct sampled_queue *a, *b; /* borrowed from the analyses; NULL: not on that side */
	double a_share, b_share;	   /* share of the samples with the queue, 0 to 1 */
	uint32_t a_gpu_id, b_gpu_id;	   /* 0: that side does not have the queue */
	const char *a_type, *b_type;	   /* NULL: none, or not known */
	const struct backlog *a_backlog, *b_backlog; /* borrowed; NULL: not known */
};

/* Two processes that are compared with each other. */
struct compared_process {
	const struct analysed_process *a, *b; /* NULL: that side has fewer processes */
};

struct compared_node {
	uint32_t gpu_id;
	size_t a, b;   /* most compute queues in one sample, of each side */
	int64_t slots; /* for compute queues; -1: not known */
	/* Backlog of all processes together on each side, borrowed from the analyses; NULL: not
	 * known. */
	const struct backlog *a_backlog, *b_backlog;
};

struct comparison {
	const struct analysis *a, *b; /* borrowed */
	bool same_process;	      /* both sides are one and the same process */
	struct compared_queue *queue; /* owned */
	size_t count;
	size_t kind[COMPARED_KINDS];	  /* number of queues for each enum comparison_where */
	struct compared_process *process; /* in the order of pids; owned */
	size_t processes;
	struct compared_node node[2 * ANALYSIS_NODES];
	size_t nodes, shared; /* shared: nodes on which both sides have compute queues */
	/* Whether the ids of one run predict those of the next: 1 yes, 0 no, -1 not known,
	 * because a side has no queue with an id or too few samples. */
	int predictable;
};

/* Compares two analyses and fills *out with the result. */
void comparison_make(const struct analysis *a, const struct analysis *b, struct comparison *out);
void comparison_free(struct comparison *comparison);
/* Returns the findings as a JSON array of sentences, owned by the caller. `a` and `b`: names of
 * the two sides. */
json_t *comparison_conclusion(const struct comparison *comparison, const char *a, const char *b);

/* ---- output of the command (compare_output.c) ---- */

struct side {
	char name[128];	       /* name in messages: the directory, process or command */
	const char *dir;       /* directory of the recording; NULL: the side is a process */
	int exit_code, signal; /* of the recorded command; -1: none, or not known */
	struct process_identity process; /* pid 0: the side is a recording */
	struct snapshot_reader *reader;	 /* of the process */
	struct analysis analysis;
};

/* Prints the comparison of two sides as text. */
void compare_show(const struct comparison *comparison, const struct side sides[2]);
/* Returns the object of `kfdsched compare --json` (docs/reference/recordings.md), owned by the
 * caller. */
json_t *compare_json(const struct comparison *comparison, const struct side sides[2]);
extern const struct field fields_compared_row[]; /* row of both tables */

#endif
