/* SPDX-License-Identifier: MIT */
/*
 * What the environment asks of this process, read once when the agent starts,
 * and the only place that writes to stderr.
 */
#ifndef KFDSHIM_SHIM_CONFIG_H
#define KFDSHIM_SHIM_CONFIG_H

#include <stdbool.h>

#include "channel/protocol.h"

enum log_level { LOG_OFF, LOG_ERROR, LOG_INFO, LOG_DEBUG };

struct config {
	int priority; /* PRIORITY_UNSET, or 0..15 */
	char group[PROTOCOL_GROUP_MAX];
	char socket[108]; /* as long as a socket's address can be */
	bool observe;	  /* seen only: neither preempts nor is preempted */
	enum log_level log;
};

extern struct config config;

/* A value that cannot be read is said once and counts as unset. */
void config_read(void);
/* One line on stderr, if KFDSHIM_LOG asks for this level. Keeps errno. */
__attribute__((format(printf, 2, 3))) void say(enum log_level level, const char *format, ...);

#endif
