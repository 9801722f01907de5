/* SPDX-License-Identifier: MIT */
/*
 * kfdsched diagnose: evaluates whether and how one process can be preempted, from the findings of
 * doctor's engine (checks.h) about that process.
 *
 * diagnose_evaluate() is pure (no I/O, no clock), and tests call it with invented facts. Threads:
 * none.
 */
#ifndef KFDSHIM_CLI_DOCTOR_DIAGNOSIS_H
#define KFDSHIM_CLI_DOCTOR_DIAGNOSIS_H

#include "cli/doctor/checks.h"
#include "cli/inspect/queue_view.h"

/* Whether a process can be preempted at a level. */
enum diagnose_can {
	DIAGNOSE_NO,
	DIAGNOSE_YES, /* possible, but the process is not at this level now */
	DIAGNOSE_NOW, /* the process is at this level */
	DIAGNOSE_UNKNOWN
};
const char *diagnose_can_name(enum diagnose_can can); /* "no", "yes", "now", "-" */

struct diagnose_level {
	enum diagnose_can can;
	/* Only these members are set. found: why the level is not possible, or under which
	 * condition it is; may be "". advice: the remedy if `can` is NO. check: the check that
	 * prevents the level; DOCTOR_CHECKS: no single check does. */
	struct doctor_finding reason;
};
/* Index in levels[] of the result for 'kfdsched suspend' and 'preempt': whether these commands can
 * suspend the process. Its `can` is never DIAGNOSE_NOW. */
#define BY_HAND LEVELS

/* Queues of one type on one GPU, as reported by one source. */
struct diagnose_queues {
	uint32_t gpu_id;
	uint64_t type; /* enum observe_type; OBSERVE_TYPES: not known */
	enum observe_source source;
	unsigned count;
};
#define DIAGNOSE_QUEUES 96 /* limit of entries; further entries count only in the totals */

struct diagnosis {
	char verdict_text[1280];       /* the verdict */
	enum doctor_known preemptible; /* in the present state */
	enum doctor_known uses_gpu;
	enum doctor_level level; /* present level; LEVEL_UNKNOWN: not known */
	enum doctor_level best;	 /* best level that is NOW or YES; LEVEL_UNKNOWN: none */
	char state[320];	 /* meaning of the process's state */
	char grounds[256];	 /* grounds for uses_gpu */
	char runtime[384];	 /* whether its runtime is enabled for debugging, as a sentence */
	enum doctor_known debug_enabled;
	struct diagnose_level levels[LEVELS + 1]; /* best first, then BY_HAND */
	struct diagnose_queues queues[DIAGNOSE_QUEUES];
	size_t queue_kinds, queue_count, gpu_count; /* of all queues; valid if queues_known */
	bool queues_known;
	bool exceptions_known;	/* for at least one queue it is known whether it had faults */
	enum doctor_known held; /* its queues are suspended now, or its submissions wait */
	struct doctor_findings findings; /* obstacles, worst first */
};

/* Evaluates the facts, which have to outlive *out. diagnosis_free() ends *out. */
void diagnose_evaluate(const struct doctor_facts *facts, struct diagnosis *out);
void diagnosis_free(struct diagnosis *diagnosis);

/* Returns the priority that the process has with the daemon or, if the daemon does not know it,
 * would have from its environment. Below 0: none, or not known. */
int diagnose_priority(const struct doctor_process *p);

/* ---- levels.c ---- */

/* Evaluates from the findings whether each level is possible, and whether 'kfdsched suspend' and
 * 'preempt' (BY_HAND) are. */
void levels_evaluate(const struct doctor_facts *facts, struct diagnosis *out);
/* Returns true if the finding matters for process `p`, which already runs: it is about a process,
 * or its check is one that a level needs (needs[]) and `p` uses the GPU that it is about. */
bool levels_concern(const struct doctor_facts *facts, const struct doctor_process *p,
		    const struct doctor_finding *finding);

#endif
