/* SPDX-License-Identifier: MIT */
/*
 * What the configuration says of a process: which rule applies, and which grants. Pure:
 * a subject in, a verdict out.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_MATCH_H
#define KFDSHIM_SCHEDULER_DAEMON_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/rules.h"

#define SUBJECT_GIDS 64u
#define SUBJECT_PATH 1024u

/* A process as the kernel describes it (subject.h). */
struct subject {
	pid_t pid; /* in our pid namespace */
	uid_t uid;
	gid_t gids[SUBJECT_GIDS];
	uint32_t gid_count;
	bool native;			  /* in our own pid and user namespace */
	bool shim;			  /* it is a client of the daemon by itself */
	char cgroup[SUBJECT_PATH];	  /* begins with `/`; empty: not known */
	char exe[SUBJECT_PATH];		  /* the same */
	char container[CONTAINER_ID + 1]; /* 64 hexadecimal digits; empty: in none */
};

struct verdict {
	char rule[VALUE_NAME]; /* empty: none applies */
	uint32_t effects;      /* enum rule_effect: which of the following count */
	int priority;
	enum protocol_level level;
	uint32_t slo_us;
	char group[PROTOCOL_GROUP_MAX];
};

/* The first rule of which all conditions hold (of the values of a condition: one). What
 * is not known of the subject holds for no condition. false: none, and *out says so. */
bool rules_match(const struct rules *rules, const struct subject *subject, struct verdict *out);

/* Of which grants it is the one who may preempt, and of which one who may be preempted:
 * bit i stands for grant i. uid and gid count for native processes only: the root of
 * every container has the same uid. */
void authority_match(const struct authority *authority, const struct subject *subject,
		     uint64_t *who, uint64_t *whom);

#endif
