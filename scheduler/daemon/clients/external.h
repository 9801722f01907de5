/* SPDX-License-Identifier: MIT */
/*
 * External processes: processes without the shim that use the driver and to which a control
 * request or a rule has given a priority ("tagged" processes). They do not know the daemon and
 * announce nothing. Consequences:
 * - Such a process can only be suspended for others. Its queues are visible, but not whether
 *   work is in flight. So it counts as active on each node where it has a compute queue, and
 *   never causes the suspension of another process (core_set_victim_only()).
 * - Its shared memory (struct client_shm) is private to the daemon, which fills it with what a shim
 *   would write, as far as sysfs, the debug session and /proc show it. All other modules treat
 *   it like any client.
 * - A debug session can only be tried, once there are compute queues: a runtime is enabled
 *   before its first queue or never (afterwards the driver returns EEXIST), so the state that
 *   ENABLE reports then is final. Only ROCr 5.2.3 never enables it.
 * - A DESTROY_QUEUE sleeps while the queue is suspended. The process does not announce it, so
 *   all threads of the process are checked ten times a second while it is suspended.
 *
 * None of this costs anything while there are no such processes.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_EXTERNAL_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_EXTERNAL_H

#include <jansson.h>

#include "scheduler/daemon/worker.h"

/*
 * Applies a request that process `pid` has this priority, 0 to 14, or PRIORITY_UNSET, which
 * releases the process. A repeated call with a priority also retries what was refused before.
 * `pidfd` refers to the process, stays the caller's, and was opened before the first run of the
 * caller's code (reader.h).
 *
 * Returns 0, or a negative errno with one sentence in `problem`:
 *   an error of target_open();
 *   -EINVAL: the priority is not possible;
 *   -EEXIST: the process is a client with the shim;
 *   -ESRCH: PRIORITY_UNSET, and the process had no priority;
 *   -ENOMEM: no slot or no memory;
 *   -EAGAIN, -EINPROGRESS: as in reader.h.
 */
int external_tag(struct worker *worker, pid_t pid, int pidfd, int priority, char *problem,
		 size_t size);

/* The same because of the rule `rule`. Not called for a process that has a priority by request. */
int external_tag_by_rule(struct worker *worker, pid_t pid, int pidfd, int priority,
			 const char *rule, char *problem, size_t size);

/* Returns the name of the rule that gave the process its priority; empty: a request did. */
const char *external_rule(const struct external *external);

/* Called in each sweep for a client that is served, between reader_begin() and reader_end():
 * does what is due. */
void external_overdue(struct worker *worker, struct client *client, uint64_t now);

/* Appends its queues, as sysfs shows them, to a JSON array. */
void external_queues_json(const struct external *external, json_t *list);

#endif
