/* SPDX-License-Identifier: MIT */
/*
 * Evaluation of the configuration for a process: which rule applies to it, and which grants.
 *
 * Pure: attributes of a process in (struct proc_attrs), result out (struct rule_match).
 *
 * Threads: any.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_MATCH_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/config/match_rules.h"

#define SUBJECT_GIDS 64u   /* further groups of a process are not read */
#define SUBJECT_PATH 1024u /* bytes, with the NUL */

/* Attributes of a process as the kernel reports them (subject.h). */
struct proc_attrs {
	pid_t pid;		  /* in the PID namespace of the daemon */
	uid_t uid;		  /* effective */
	gid_t gids[SUBJECT_GIDS]; /* the effective one, then the supplementary ones */
	uint32_t gid_count;
	bool native;			  /* in the PID and user namespace of the daemon */
	bool shim;			  /* it has the shim, which has registered it as a client */
	char cgroup[SUBJECT_PATH];	  /* begins with `/`; empty: unknown */
	char exe[SUBJECT_PATH];		  /* path of the program; empty: unknown */
	char container[CONTAINER_ID + 1]; /* 64 hexadecimal digits; empty: not in a container */
};

/* What a rule sets for a process. */
struct rule_match {
	char rule[VALUE_NAME]; /* name of the rule; empty: no rule applies */
	uint32_t effects;      /* set of enum rule_effect: the fields below that are set */
	int priority;
	enum protocol_level level;
	uint32_t slo_us;
	char group[PROTOCOL_GROUP_MAX];
};

/* Finds the first rule of which all conditions hold; a condition holds if one of its values
 * matches. A condition on an attribute that is not known does not hold. Returns false if no rule
 * applies; *out is then empty. */
bool rules_match(const struct rules *rules, const struct proc_attrs *subject,
		 struct rule_match *out);

/* Determines the grants that concern a process. Bit i of *preemptor: grant i allows the process to
 * preempt others. Bit i of *victim: grant i allows others to preempt the process. uid and gid of a
 * grant match only native processes, because root has the same uid in each container. */
void authority_match(const struct authority *authority, const struct proc_attrs *subject,
		     uint64_t *preemptor, uint64_t *victim);

#endif
