/* SPDX-License-Identifier: MIT */
/*
 * kfdsched diagnose: what is known of one process, and what follows from it. doctor is
 * the machine's and the session's check; its facts and its judgement are used here.
 *
 * diagnose_gather() finds out, diagnose_judge() judges (pure: no I/O, no clock; tests make
 * its facts up), diagnose_print() and diagnose_json() tell. What could not be found out is
 * unknown and never taken for "no", as in doctor_facts.h. Threads: none.
 */
#ifndef KFDSHIM_CLI_DIAGNOSE_H
#define KFDSHIM_CLI_DIAGNOSE_H

#include <jansson.h>
#include <sys/types.h>

#include "scheduler/cli/doctor_judge.h"
#include "scheduler/observe/observe.h"
#include "scheduler/observe/process.h"

struct diagnose_facts {
	pid_t asked; /* the number that was named: of a thread, where who.pid is another */
	struct process_identity who;
	char user[32];
	unsigned threads; /* 0: not known */
	pid_t parent;	  /* 0: none, or of another namespace */
	char parent_name[16];
	enum doctor_known paused;	       /* its cgroup is frozen ("docker pause") */
	char thaw[256];			       /* the file that thaws it; "": not known */
	enum doctor_known dumpable;	       /* NO: CAP_SYS_PTRACE alone may look or trace */
	enum doctor_known same_user_namespace; /* as ours */

	struct doctor_facts machine; /* asked_pid is who.pid */
	struct observation seen;     /* its queues */
};

/* What is known of the process among the machine's; NULL: nothing. */
const struct doctor_process *diagnose_process(const struct diagnose_facts *facts);

/* `socket` of the daemon. 0; -ESRCH: there is no such process; -EACCES: it may not even be
 * seen; -ENOMEM. Ended by diagnose_free(), whatever came of it. */
int diagnose_gather(struct diagnose_facts *facts, const char *socket, pid_t pid);
void diagnose_free(struct diagnose_facts *facts);

/* May a level be had? */
enum diagnose_can { DIAGNOSE_NO, DIAGNOSE_YES, DIAGNOSE_NOW, DIAGNOSE_UNKNOWN };
const char *diagnose_can_name(enum diagnose_can can); /* "no", "yes", "now", "-" */

struct diagnose_level {
	const char *name; /* "trap", "self", "gate", "weight", "observe" */
	enum diagnose_can can;
	char why[320];	   /* "": nothing to say */
	char advice[320];  /* what mends it, where `can` is NO; "": nothing does, or not needed */
	const char *check; /* the finding that stands in its way; NULL: none alone */
};
#define DIAGNOSE_LEVELS 5

/* Queues of one type on one GPU, as one source tells. */
struct diagnose_queues {
	uint32_t gpu_id;
	uint64_t type; /* enum observe_type; OBSERVE_TYPES: not known */
	enum observe_source source;
	unsigned count;
};
#define DIAGNOSE_QUEUES 96 /* different ones that are told */

struct diagnosis {
	char sentence[1280];	       /* the verdict */
	enum doctor_known preemptible; /* now, as it is */
	enum doctor_known uses_gpu;
	const char *level;  /* "trap", ..., "none"; NULL: not known */
	const char *best;   /* the best that is NOW or YES; NULL: none, or not known */
	char state[192];    /* what its state means */
	char evidence[256]; /* how it is known that it uses a GPU, or that it does not */
	char runtime[384];  /* is its runtime enabled for debugging? */
	enum doctor_known debug_enabled;
	struct diagnose_level levels[DIAGNOSE_LEVELS]; /* the best first */
	struct diagnose_level by_hand; /* can 'kfdsched suspend' and 'preempt' hold it? never NOW */
	struct diagnose_queues queues[DIAGNOSE_QUEUES];
	size_t queue_kinds, queue_count, gpu_count; /* of all queues, if queues_known */
	bool queues_known;
	enum doctor_known held;		 /* its queues are suspended, or it is held back, now */
	struct doctor_findings findings; /* what stands in the way, the worst first */
};

/* 0 or -ENOMEM; ended by diagnosis_free() either way. The facts must outlive it. */
int diagnose_judge(const struct diagnose_facts *facts, struct diagnosis *out);
void diagnosis_free(struct diagnosis *diagnosis);

/* On stdout. 0, or -ENOMEM. */
int diagnose_print(const struct diagnose_facts *facts, const struct diagnosis *diagnosis);
/* NULL: no memory. docs/formats.md names the keys. */
json_t *diagnose_json(const struct diagnose_facts *facts, const struct diagnosis *diagnosis);

/* Parts of diagnose_judge(), in files of their own. */
void diagnose_judge_levels(const struct diagnose_facts *facts, struct diagnosis *out);
void diagnose_judge_findings(const struct diagnose_facts *facts, struct diagnosis *out);
/* Leaves what stands in the way: one line for one cause. */
void diagnose_keep_obstacles(const struct diagnose_facts *facts, struct diagnosis *out);
/* The one that it has with the daemon, or would have from what it was started with. Below
 * 0: none, or not known. */
int diagnose_priority(const struct doctor_process *p);
/* Ended, or of the kernel: nobody preempts it, nor needs to. */
bool diagnose_is_dead(const struct diagnose_facts *facts);
/* The first finding of that check that is a warning or a missing thing; NULL: none. Of a
 * GPU's checks only those of GPUs that the process uses count. */
const struct doctor_finding *diagnose_amiss(const struct diagnose_facts *facts,
					    const struct doctor_findings *findings,
					    const char *check);

#endif
