/* SPDX-License-Identifier: MIT */
/*
 * kfdsched diagnose: collects what is known of one process, and evaluates whether and how it can
 * be preempted. kfdsched doctor checks the machine and the session; its facts and its checks
 * are used here too, so that the two commands never disagree.
 *
 * diagnose_collect() collects the facts. diagnose_evaluate() evaluates them; it is pure (no I/O, no
 * clock), and tests call it with invented facts. diagnose_print() and diagnose_json() print the
 * result. A fact that could not be found out is unknown and is never taken for "no", as in
 * facts.h. Threads: none.
 */
#ifndef KFDSHIM_CLI_DOCTOR_DIAGNOSE_H
#define KFDSHIM_CLI_DOCTOR_DIAGNOSE_H

#include <jansson.h>
#include <sys/types.h>

#include "cli/doctor/checks_driver.h"
#include "cli/inspect/inspect.h"
#include "cli/inspect/process.h"
#include "kfd/gpu_name.h"

struct diagnose_facts {
	pid_t queried; /* number that the user gave; a thread of identity.pid if they differ */
	struct process_identity identity;
	char user[32];	  /* name, or "uid N" */
	unsigned threads; /* number of its threads; 0: not known */
	pid_t parent;	  /* 0: none, or one of another pid namespace */
	char parent_name[16];
	enum doctor_known paused;	       /* its cgroup is frozen ("docker pause") */
	char thaw[256];			       /* file that thaws that cgroup; "": not known */
	enum doctor_known dumpable;	       /* NO: reading or tracing it needs CAP_SYS_PTRACE */
	enum doctor_known same_user_namespace; /* the same as kfdsched's */

	struct doctor_facts machine; /* collected with chosen_pid = identity.pid */
	struct observation seen;     /* its queues, as the sources report them */
};

/* Returns the entry of the process in facts->machine. NULL: there is none. */
const struct doctor_process *diagnose_process(const struct diagnose_facts *facts);

/*
 * Collects the facts about process `pid`, which may also be the number of a thread. `socket`:
 * path of the daemon's socket. diagnose_free() ends *facts, also after an error. Returns 0 or
 *   -ESRCH   there is no such process, or it has ended in the meantime
 *   -EACCES  there is one, but /proc hides it from this user
 *   -ENOMEM
 */
int diagnose_collect(struct diagnose_facts *facts, const char *socket, pid_t pid);
void diagnose_free(struct diagnose_facts *facts);

/* Availability of a level. */
enum diagnose_can {
	DIAGNOSE_NO,
	DIAGNOSE_YES, /* possible, but the process is not at this level now */
	DIAGNOSE_NOW, /* the process is at this level */
	DIAGNOSE_UNKNOWN
};
const char *diagnose_can_name(enum diagnose_can can); /* "no", "yes", "now", "-" */

struct diagnose_level {
	const char *name; /* "trap", "self", "gate", "weight", "observe" */
	enum diagnose_can can;
	char why[320];	   /* reason or condition; "": none */
	char advice[320];  /* remedy if `can` is NO; "": there is none, or none is needed */
	const char *check; /* name of the finding that prevents the level; NULL: no single one */
	uint32_t gpu_id;   /* of the GPU that `why` is about; 0: of no single one */
};
#define DIAGNOSE_LEVELS 5

/* Queues of one type on one GPU, as reported by one source. */
struct diagnose_queues {
	uint32_t gpu_id;
	uint64_t type; /* enum observe_type; OBSERVE_TYPES: not known */
	enum observe_source source;
	unsigned count;
};
#define DIAGNOSE_QUEUES 96 /* entries kept; further ones are only in the totals */

struct diagnosis {
	char verdict_text[1280];       /* the verdict */
	enum doctor_known preemptible; /* in the present state */
	enum doctor_known uses_gpu;
	const char *level; /* present level: "trap", ..., "none"; NULL: not known */
	const char *best;  /* best level that is NOW or YES; NULL: none, or not known */
	char state[192];   /* meaning of the process's state */
	char grounds[256]; /* grounds for uses_gpu */
	char runtime[384]; /* whether its runtime is enabled for debugging */
	enum doctor_known debug_enabled;
	struct diagnose_level levels[DIAGNOSE_LEVELS]; /* best first */
	/* Whether 'kfdsched suspend' and 'preempt' can hold the process; never NOW. */
	struct diagnose_level by_hand;
	struct diagnose_queues queues[DIAGNOSE_QUEUES];
	size_t queue_kinds, queue_count, gpu_count; /* of all queues; valid if queues_known */
	bool queues_known;
	bool exceptions_known;	/* of one queue at least: whether the driver has reported faults */
	enum doctor_known held; /* now: its queues are suspended, or its submissions held back */
	struct doctor_findings findings; /* obstacles, worst first */
};

/* Evaluates the facts, which have to outlive *out. diagnosis_free() ends *out, also after an
 * error. Returns 0 or -ENOMEM. */
int diagnose_evaluate(const struct diagnose_facts *facts, struct diagnosis *out);
void diagnosis_free(struct diagnosis *diagnosis);

/* Prints the diagnosis as text on stdout. Returns 0 or -ENOMEM. */
int diagnose_print(const struct diagnose_facts *facts, const struct diagnosis *diagnosis);
/* Writes level->why, with the short name of its GPU in front if it is about one. Returns `text`. */
#define DIAGNOSE_WHY (320 + GPU_NAME_SHORT + 8)
const char *diagnose_why(char text[static DIAGNOSE_WHY], const struct diagnose_level *level);
/* Returns the diagnosis as a JSON object with the keys of docs/reference/doctor.md, owned by the
 * caller. NULL: no memory. */
json_t *diagnose_json(const struct diagnose_facts *facts, const struct diagnosis *diagnosis);

/* ---- parts of diagnose_evaluate() ---- */

/* Evaluates each level and by_hand from the facts and the findings so far. */
void diagnose_check_levels(const struct diagnose_facts *facts, struct diagnosis *out);
/* Makes doctor's findings, adds those that only concern this process, and evaluates the levels.
 * Sets findings.failed if there is no memory. */
void diagnose_check_findings(const struct diagnose_facts *facts, struct diagnosis *out);
/* Reduces the findings to the obstacles of this process, with one line for one cause, and sorts
 * them. Sets findings.failed if there is no memory. */
void diagnose_keep_obstacles(const struct diagnose_facts *facts, struct diagnosis *out);
/* Returns the priority that the process has with the daemon or, if the daemon does not know it,
 * would have from its environment. Below 0: none, or not known. */
int diagnose_priority(const struct doctor_process *p);
/* Returns true if the process has ended or is a kernel thread: it cannot be preempted and need
 * not be. */
bool diagnose_is_dead(const struct diagnose_facts *facts);
/* Returns the first finding of `check` with the verdict WARNING or MISSING. Findings about a GPU
 * count only if the process uses that GPU. NULL: there is none. */
const struct doctor_finding *diagnose_amiss(const struct diagnose_facts *facts,
					    const struct doctor_findings *findings,
					    const char *check);

#endif
