/* SPDX-License-Identifier: MIT */
/*
 * The daemon's configuration file (docs/formats.md; packaging/kfdschedd.ini is one with
 * every key): sections of `key = value`. All of it is plain data without pointers: the
 * process that reads it hands it to others in one piece.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/core.h"
#include "scheduler/daemon/owners.h"
#include "scheduler/daemon/rules.h"

#define CONFIG_BYTES_MAX (1u << 20) /* of the file */
#define CONFIG_LINE_MAX 197u	    /* characters of a line; inih has no room for more */

struct config_node {
	uint32_t gpu_id;
	struct core_policy policy;
};

struct config {
	struct core_config core; /* with the policy of nodes without one of their own */
	uint32_t node_count;
	struct config_node node[CORE_POLICIES];
	struct authority authority;
	struct rules rules;
	struct owners owners;  /* of /etc/subuid, not of the file */
	uint16_t metrics_port; /* of 127.0.0.1; 0: off */
	bool verbose;
};

void config_default(struct config *out);

/*
 * Reads `path`; keys that are absent have their defaults. 0, or a negative errno, and then
 * *out is as it was: -EINVAL for what the file says, else what opening or reading it
 * failed with. `problem` then holds one sentence that begins with the file and, if it is
 * one of a line, the line. With 0 it is empty, or such a sentence on a line for an earlier
 * version that has no effect any more. Never waits for a file that is no file; may ask the
 * network for names of users.
 */
int config_load(const char *path, struct config *out, char *problem, size_t size);

#endif
