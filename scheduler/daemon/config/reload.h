/* SPDX-License-Identifier: MIT */
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
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_RELOAD_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/daemon/config/config.h"

struct reload;

/* Creates the state with the configuration that is in force at the start. `path` is opened again
 * at each reload; NULL: there is no file. Both are copied. Returns NULL if there is no memory. */
struct reload *reload_create(const char *path, const struct config *config);

/* Starts a child process that reads the file. If one is running, the file is read again when it
 * has ended. `now` is CLOCK_MONOTONIC in ns. Without a file it only logs that. */
void reload_begin(struct reload *reload, uint64_t now);

/* Returns true while the file is being read. */
bool reload_busy(const struct reload *reload);

/* Called in each iteration of the watchdog's loop. Returns true once when a new configuration is
 * in force. Problems of a configuration that is rejected are logged. A read that takes longer
 * than 10 s is aborted. */
bool reload_check(struct reload *reload, uint64_t now);

/* Copies the configuration in force into *out if its number differs from *number, and sets
 * *number. Returns whether it did. The caller starts with *number 0, which no configuration has. */
bool reload_take(const struct reload *reload, uint32_t *number, struct config *out);

/*
 * Allows the calling process only reading of files from now on: no file can be opened for writing,
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
