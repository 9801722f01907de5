/* SPDX-License-Identifier: MIT */
/*
 * The daemon's configuration file: sections of `key = value`. docs/reference/configuration.md
 * describes it, and packaging/kfdschedd.ini contains each key. A struct config is plain data
 * without pointers, so that the process that reads the file can pass it to the other processes as
 * one block.
 *
 * Threads: the main thread of the first process, and the process that reads the file again
 * (reload.h).
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_CONFIG_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/sched.h"
#include "scheduler/daemon/config/match_rules.h"

#define CONFIG_BYTES_MAX (1u << 20) /* maximum size of the file, bytes */
#define CONFIG_LINE_MAX 197u	    /* characters of a line; inih has no room for more */

/* A node with a policy of its own. */
struct config_node {
	uint32_t gpu_id;
	struct core_policy policy;
};

struct config {
	struct core_config core; /* core.policy: of the nodes without one of their own */
	uint32_t node_count;
	struct config_node node[CORE_POLICIES];
	struct authority authority;
	struct rules rules;
	struct owners owners;  /* from /etc/subuid, not from the file */
	uint16_t metrics_port; /* port on 127.0.0.1; 0: no metrics */
	bool verbose;	       /* [log] level = debug */
};

/* Sets the defaults of all keys; no rules, grants, nodes or owners. */
void config_default(struct config *out);

/*
 * Reads `path` into *out. Keys that are absent get their defaults. Does not block on a file that
 * is not a regular file. May use the network to resolve user and group names.
 *
 * Returns
 *   0: `problem` is empty, or one sentence about a line for an earlier version that has no
 *     effect any more;
 *   -EINVAL: the content of the file is wrong;
 *   another negative errno: the file cannot be opened or read.
 * After an error *out is unchanged, and `problem` holds one sentence that begins with the file
 * name and, if a line is wrong, the number of that line.
 */
int config_load(const char *path, struct config *out, char *problem, size_t size);

#endif
