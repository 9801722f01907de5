/* SPDX-License-Identifier: MIT */
/*
 * Rules of the configuration: which processes are what, and who of another tenant may
 * preempt whom. Plain data without pointers, so that a process can hand all of it to
 * another in one piece. What they say of a process: match.h.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_RULES_H
#define KFDSHIM_SCHEDULER_DAEMON_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/protocol.h"
#include "common/cgroup.h"
#include "scheduler/daemon/value.h"

#define RULES_MAX 64u
#define RULE_VALUES 8u	  /* of one condition */
#define RULE_PATTERN 192u /* with its NUL; a line of the file is not longer */
#define GRANTS_MAX 64u	  /* a bit each (match.h) */
#define CONTAINER_MIN 6u  /* digits of an id's beginning, of 64 */
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

struct rule_texts {
	uint32_t count;
	char text[RULE_VALUES][RULE_PATTERN];
};

struct rule_ids {
	uint32_t count;
	uint32_t id[RULE_VALUES];
};

struct rule {
	char name[VALUE_NAME];
	uint32_t conditions, effects; /* bits; what is not there is unset below */

	struct rule_ids uids, gids;
	struct rule_texts cgroups, executables, containers;
	bool shim;

	int priority; /* PRIORITY_UNSET: seen, never scheduled */
	enum protocol_level level;
	uint32_t slo_us;
	char group[PROTOCOL_GROUP_MAX];
};

struct rules {
	uint32_t count;
	struct rule rule[RULES_MAX]; /* the first that applies is the one */
};

enum party_kind { PARTY_ALL, PARTY_UID, PARTY_GID, PARTY_CGROUP };

struct party {
	enum party_kind kind;
	uint32_t id;
	char cgroup[RULE_PATTERN];
};

/* `who` may preempt `whom`. */
struct grant {
	struct party who, whom;
};

struct authority {
	bool has_admin_group; /* else control is root's alone */
	gid_t admin_group;
	uint32_t count;
	struct grant grant[GRANTS_MAX];
};

/*
 * One value of the file each, into what is still empty. false: it is not allowed, or there
 * is no room for it.
 */
bool rules_take_uids(struct rule_ids *out, const char *text);
bool rules_take_gids(struct rule_ids *out, const char *text);
/* Patterns as fnmatch(3) has them, from the first `/` on; `*` also stands for `/`. */
bool rules_take_paths(struct rule_texts *out, const char *text);
bool rules_take_containers(struct rule_texts *out, const char *text);
/* "uid NAME over cgroup /PATTERN": appends it. */
bool rules_take_grant(struct authority *out, const char *text);

#endif
