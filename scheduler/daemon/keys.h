/* SPDX-License-Identifier: MIT */
/* Keys of the configuration file: of what kind is a value, and where does it go? */
#ifndef KFDSHIM_SCHEDULER_DAEMON_KEYS_H
#define KFDSHIM_SCHEDULER_DAEMON_KEYS_H

#include "scheduler/daemon/config.h"

#define KEY_ALLOWED 160

/* How the value of a key is read, and what its bounds mean. */
enum key_kind {
	KEY_TIME,	  /* ns, from min to max; with a unit */
	KEY_MICROSECONDS, /* ns, the same; a plain number of microseconds */
	KEY_COUNT,	  /* uint32_t, from min to max */
	KEY_PERCENT,	  /* uint32_t, the same, with its sign */
	KEY_YES_NO,	  /* bool */
	KEY_POLICY,	  /* of a struct config_node, as is the next */
	KEY_SHARE,
	KEY_ADMIN_GROUP,
	KEY_GRANT,
	KEY_UIDS, /* conditions of a struct rule */
	KEY_GIDS,
	KEY_CGROUPS,
	KEY_EXECUTABLES,
	KEY_CONTAINERS,
	KEY_SHIM,
	KEY_PRIORITY, /* effects of a struct rule */
	KEY_LEVEL,
	KEY_GROUP,
	KEY_SLO,
	KEY_LISTEN,
	KEY_LOG_LEVEL,
};

struct key {
	const char *name;
	enum key_kind kind;
	uint64_t min, max;
	size_t offset;
	bool again; /* it may come more than once */
};

/* Reads a value: into config, or into what its section is about (a struct config_node, a
 * struct rule). false: it is not allowed. */
bool key_take(struct config *config, void *target, const struct key *key, const char *text);
/* What is: it completes "KEY = VALUE: must be". May use `text`. */
const char *key_allowed(const struct key *key, char text[static KEY_ALLOWED]);

#endif
