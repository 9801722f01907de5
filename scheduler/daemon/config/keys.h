/* SPDX-License-Identifier: MIT */
/*
 * Keys of the configuration file: the kind of each value, its bounds, and where it is stored.
 *
 * Threads: any; no state.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_KEYS_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_KEYS_H

#include "scheduler/daemon/config/config.h"

#define KEY_ALLOWED 160 /* bytes of a text of key_allowed() */

/* How the value of a key is parsed, and the meaning of `min` and `max`. */
enum key_kind {
	KEY_TIME, /* uint64_t in ns, min..max; the text has a unit */
	/* uint64_t in ns, min..max; the text is in microseconds, without a unit */
	KEY_MICROSECONDS,
	KEY_COUNT,   /* uint32_t, min..max */
	KEY_PERCENT, /* uint32_t, min..max; the text has a percent sign */
	KEY_YES_NO,  /* bool */
	KEY_POLICY,  /* KEY_POLICY and KEY_SHARE: a field of struct config_node */
	KEY_SHARE,
	KEY_ADMIN_GROUP,
	KEY_GRANT,
	KEY_UIDS, /* KEY_UIDS to KEY_SHIM: a condition of struct rule */
	KEY_GIDS,
	KEY_CGROUPS,
	KEY_EXECUTABLES,
	KEY_CONTAINERS,
	KEY_SHIM,
	KEY_PRIORITY, /* KEY_PRIORITY to KEY_SLO: an effect of struct rule */
	KEY_LEVEL,
	KEY_GROUP,
	KEY_SLO,
	KEY_LISTEN,
	KEY_LOG_LEVEL,
};

/* One key of a section. */
struct config_key {
	const char *name;
	enum key_kind kind;
	uint64_t min, max;
	size_t offset; /* in struct config, of KEY_TIME to KEY_YES_NO */
	bool again;    /* the key can be repeated */
};

/* Parses `text` and stores it in *config, or in *target, which is the object that the section
 * describes (struct config_node or struct rule). Returns false if the value is not allowed. */
bool key_take(struct config *config, void *target, const struct config_key *key, const char *text);

/* Returns a description of the allowed values, which completes "KEY = VALUE: must be". May use
 * the buffer `text`. */
const char *key_allowed(const struct config_key *key, char text[static KEY_ALLOWED]);

#endif
