/* SPDX-License-Identifier: MIT */
/*
 * Two sets of processes, from recordings or live, beside each other: which queues both
 * have, whether ids can be foretold, and whether they share GPUs and slots.
 *
 * Processes are compared in the order of their pids, the first with the first: KFD numbers
 * the queues of each process by itself.
 *
 * Pure. Threads: one at a time. Ownership: zeroed to begin with, ended by
 * comparison_free(); the analyses stay the caller's, and must live as long.
 */
#ifndef KFDSHIM_CLI_COMPARISON_H
#define KFDSHIM_CLI_COMPARISON_H

#include <jansson.h>

#include "scheduler/cli/analysis.h"

enum comparison_where {
	COMPARED_BOTH,	  /* the same id, on the same node, of the same type */
	COMPARED_DIFFERS, /* the same id, and another node or type */
	COMPARED_A,	  /* in the first alone */
	COMPARED_B,
	COMPARED_KINDS
};

struct compared_queue {
	enum comparison_where where;
	size_t process; /* 0: the first of either side */
	uint32_t context, id;
	const struct sampled_queue *a, *b; /* NULL: there is none */
	double a_share, b_share;	   /* of samples; 0 without one */
};

struct compared_node {
	uint32_t gpu_id;
	size_t a, b;   /* compute queues, at their most */
	int64_t slots; /* -1: not known */
};

struct comparison {
	const struct analysis *a, *b;
	bool same_process; /* one process, seen twice */
	struct compared_queue *queue;
	size_t count;
	size_t kind[COMPARED_KINDS];
	struct compared_node node[2 * ANALYSIS_NODES];
	size_t nodes, shared; /* shared: those on which both have queues */
	/* Whether whoever knows the ids of one run knows those of the next: 1 yes, 0 no, -1: it
	 * cannot be said, for a side has no queue with an id, or too few samples. */
	int predictable;
};

/* 0 or -ENOMEM. */
int comparison_make(const struct analysis *a, const struct analysis *b, struct comparison *out);
void comparison_free(struct comparison *comparison);
const char *comparison_where_name(enum comparison_where where); /* "both", ... */
/* Plain words, a sentence each. `a` and `b`: what the user called them. NULL: no memory. */
json_t *comparison_conclusion(const struct comparison *comparison, const char *a, const char *b);
/* docs/formats.md, kfdsched compare --json, without the names of both. */
json_t *comparison_json(const struct comparison *comparison, const char *a, const char *b);

#endif
