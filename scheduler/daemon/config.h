/* SPDX-License-Identifier: MIT */
/* The daemon's configuration file: section [scheduler], keys with their unit. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_H

#include <stddef.h>

#include "scheduler/core/core.h"

/* Reads `path` into *out, which holds the defaults; keys that are absent stay.
 * -EINVAL, or what opening it failed with: `problem` holds one sentence that
 * begins with the file and, if it is one of a line, the line. */
int config_load(const char *path, struct core_config *out, char *problem, size_t size);

#endif
