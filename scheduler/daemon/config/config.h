/* SPDX-License-Identifier: MIT */
/*
 * The daemon's configuration file: sections of `key = value`. docs/reference/configuration.md
 * describes it, and packaging/kfdschedd.ini contains each key. A struct config is plain data
 * without pointers, so that the process that reads the file can pass it to the other processes as
 * one block.
 *
 * Threads: the main thread of the first process, and the process that reads the file again
 * (reload_begin()).
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_CONFIG_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_CONFIG_H

#include "scheduler/core/sched.h"
#include "scheduler/daemon/config/match_rules.h"

#define CONFIG_BYTES_MAX (1u << 20) /* maximum size of the file, bytes */
/* maximum characters of a line; the INI parser (inih) has no room for more */
#define CONFIG_LINE_MAX 197u

/* A node with a policy of its own. */
struct config_node {
	uint32_t gpu_id;
	struct core_policy policy;
};

struct config {
	struct core_config core; /* core.policy: policy of the nodes without their own */
	uint32_t node_count;
	struct config_node node[CORE_POLICIES];
	struct authority authority;
	struct rules rules;
	struct owners owners;  /* from /etc/subuid, not from the file */
	uint16_t metrics_port; /* port on 127.0.0.1; 0: no metrics */
	bool verbose;	       /* [log] level = debug */
};

/* Sets all keys to their defaults, without rules, grants, nodes or owners. */
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

/* ---- the configuration in force (reload.c) ---- */

/*
 * The configuration in force, and its replacement while the daemon runs.
 *
 * The watchdog lets a child process read the file (kfdschedd-conf), because user names may have
 * to be resolved over a network, and because the content of a file must not harm the process
 * that supervises the worker. A valid configuration is in force from then on, for the present
 * worker, which SIGHUP notifies, and for all later ones.
 *
 * The child process is in a Landlock domain (Linux 5.13 and newer), which restricts access to
 * files, even for root. The worker and the watchdog do not use Landlock. A process in a domain can
 * trace only processes of the same domain, whatever its capabilities, and cannot read which
 * namespaces other processes are in. Children inherit the domain, so the watchdog cannot be in one
 * either.
 *
 * Threads: all functions are for the watchdog, except reload_take(), which any process that was
 * forked later can call.
 */
struct reload;

/* Creates the state with the configuration that is in force at the start. `path` is opened again
 * at each reload; NULL: there is no file. Both are copied. Returns NULL if there is no memory. */
struct reload *reload_create(const char *path, const struct config *config);

/* Starts a child process that reads the file. If one is running already, the file is read again
 * when that process has ended. `now` is CLOCK_MONOTONIC in ns. Without a file, only logs that. */
void reload_begin(struct reload *reload, uint64_t now);

/* Returns true while the file is being read. */
bool reload_busy(const struct reload *reload);

/* Handles the end of the child process that reads the file; called in each iteration of the
 * watchdog's loop. Returns true once when a new configuration is in force. If the configuration has
 * an error, logs it and keeps the old one. Aborts a read that takes longer than 10 s. */
bool reload_check(struct reload *reload, uint64_t now);

/* Copies the configuration in force into *out if its number differs from *number, and sets *number.
 * Returns true if it has done so. The caller starts with *number 0, which no configuration has. */
bool reload_take(const struct reload *reload, uint32_t *number, struct config *out);

/*
 * Restricts the calling process to reading files from now on: no file can be opened for writing,
 * created, removed, renamed or executed, no TCP port bound or connected to, no other process traced
 * or signalled, as far as this kernel supports these restrictions. Needs no-new-privs.
 *
 * Returns
 *   0;
 *   -ENOSYS: this kernel has no Landlock, or it is disabled;
 *   another negative errno: the ruleset could not be created or applied.
 */
int landlock_read_only(void);

/* Returns the version of the kernel's Landlock interface; 0 if there is none. */
int landlock_version(void);

#endif
