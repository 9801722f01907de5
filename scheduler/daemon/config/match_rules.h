/* SPDX-License-Identifier: MIT */
/*
 * Rules and grants of the configuration. A rule sets the attributes of the processes that it
 * matches. A grant allows processes to preempt processes of another tenant. The header also has the
 * owners of uids (/etc/subuid).
 *
 * Plain data without pointers, so that a process can pass all of it to another process as one
 * block.
 *
 * Threads: any; no state. Names of users and groups are resolved as value.h describes.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_MATCH_RULES_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_MATCH_RULES_H

#include "channel/protocol.h"
#include "common/proc.h"
#include "scheduler/daemon/config/value.h"

#define RULES_MAX 64u
#define RULE_VALUES 8u	  /* values of one condition */
#define RULE_PATTERN 192u /* bytes, with the NUL; no value in the file is longer */
#define GRANTS_MAX 64u	  /* maximum number of grants, one bit each (authority_match()) */
#define CONTAINER_MIN 6u  /* minimum digits of the beginning of a container id, which has 64 */
#define CONTAINER_ID CGROUP_ID

enum rule_condition {
	RULE_UID = 1 << 0,
	RULE_GID = 1 << 1,
	RULE_CGROUP = 1 << 2,
	RULE_EXECUTABLE = 1 << 3,
	RULE_CONTAINER = 1 << 4,
	RULE_SHIM = 1 << 5,
};

enum rule_effect {
	RULE_PRIORITY = 1 << 0,
	RULE_LEVEL = 1 << 1,
	RULE_GROUP = 1 << 2,
	RULE_SLO = 1 << 3,
};

/* Patterns of a condition, or beginnings of container ids. */
struct rule_texts {
	uint32_t count;
	char text[RULE_VALUES][RULE_PATTERN];
};

/* uids or gids of a condition. */
struct rule_ids {
	uint32_t count;
	uint32_t id[RULE_VALUES];
};

struct rule {
	char name[VALUE_NAME];
	/* sets of enum rule_condition and enum rule_effect; a field whose bit is not set has no
	 * meaning */
	uint32_t conditions, effects;

	struct rule_ids uids, gids;
	struct rule_texts cgroups, executables, containers;
	bool shim; /* RULE_SHIM: value that the process must have */

	int priority; /* PRIORITY_UNSET: the process is listed but never scheduled */
	enum protocol_level level;
	uint32_t slo_us;
	char group[PROTOCOL_GROUP_MAX];
};

struct rules {
	uint32_t count;
	struct rule rule[RULES_MAX]; /* the first rule that matches applies */
};

enum party_kind { PARTY_ALL, PARTY_UID, PARTY_GID, PARTY_CGROUP };

/* A set of processes: one side of a grant. */
struct party {
	enum party_kind kind;
	uint32_t id;
	char cgroup[RULE_PATTERN];
};

/* Processes of `preemptor` can preempt processes of `victim`. */
struct grant {
	struct party preemptor, victim;
};

/* The section [authority]. */
struct authority {
	bool has_admin_group; /* false: only root can send control requests */
	gid_t admin_group;
	uint32_t count;
	struct grant grant[GRANTS_MAX];
};

/* Parses the values of a condition and adds it to the rule. Patterns are those of fnmatch(3), begin
 * with `/`, and `*` also matches `/`; beginnings of container ids have CONTAINER_MIN to
 * CONTAINER_ID hexadecimal digits. Returns false if a value is not allowed or if there is no room
 * for it. */
bool rule_take(struct rule *rule, enum rule_condition condition, const char *text);

/* Parses "uid NAME over cgroup /PATTERN" and appends the grant. Returns false as rule_take(). */
bool rules_take_grant(struct authority *out, const char *text);

#define SUBJECT_GIDS 64u   /* further groups of a process are not read */
#define SUBJECT_PATH 1024u /* bytes, with the NUL */

/* Attributes of a process as the kernel reports them (subject_read()). */
struct proc_attrs {
	pid_t pid;		  /* in the PID namespace of the daemon */
	uid_t uid;		  /* effective */
	gid_t gids[SUBJECT_GIDS]; /* the effective one, then the supplementary ones */
	uint32_t gid_count;
	bool native; /* in the PID and user namespace of the daemon */
	bool shim;   /* the process has the shim, which has registered it as a client */
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

/*
 * Reads the attributes of `pid` in /proc. That can block (reader.h), so only
 * kfdschedd-read calls it. An attribute that cannot be read stays empty, and so matches no
 * condition. `shim` is set to false. The result belongs to the intended process only if that
 * process still lives afterwards; the caller checks its pidfd.
 *
 * Returns 0, or -ESRCH if there is no such process.
 */
int subject_read(pid_t pid, struct proc_attrs *out);

/*
 * Owners of uids. /etc/subuid assigns ranges of subordinate uids to users, and rootless
 * containers use them. All uids of a user share the limits of that user.
 */
#define OWNERS_FILE "/etc/subuid"
#define OWNERS_MAX 1024u /* ranges; lines beyond that are counted, not used */

/* A range of subordinate uids: first .. first + count - 1, which `owner` owns. */
struct owner_range {
	uid_t first, owner;
	uint32_t count;
};

struct owners {
	uint32_t count;	    /* ranges in use */
	uint32_t bad_lines; /* lines that subuid(5) does not describe, or with an unknown user */
	uint32_t unused;    /* valid lines beyond OWNERS_MAX */
	struct owner_range ranges[OWNERS_MAX];
};

/* Reads `path` into *out. A file that cannot be read counts as empty. Resolves user names by the
 * name service (nsswitch.conf), which may use the network, so the call can take long. */
void owners_read(const char *path, struct owners *out);

/* Returns the user that owns `uid`, or `uid` itself if no range contains it. */
uid_t owners_find(const struct owners *owners, uid_t uid);

#endif
