/* SPDX-License-Identifier: MIT */
/*
 * External processes: processes without the shim that use the driver and to which a control request
 * or a rule has given a priority ("tagged" processes). They have no connection to the daemon and
 * announce nothing. Consequences:
 * - Such a process is suspended for other processes, but no process is suspended for it. Its queues
 *   are visible, but not whether work is in flight. So it counts as active on each node where it
 *   has a compute queue, and never causes the suspension of another process
 *   (core_set_victim_only()).
 * - Its shared memory (struct client_shm) is private to the daemon, which fills it with what a shim
 *   would write, as far as sysfs, the debug session and /proc show it. All other modules treat it
 *   like any client.
 * - A debug session is not tried before there are compute queues. A runtime can be enabled only
 *   before its first queue (later the driver returns EEXIST). So once there is a queue, the state
 *   that ENABLE reports is final. Only ROCr 5.2.3 never enables it.
 * - A DESTROY_QUEUE sleeps while the queue is suspended. The process does not announce it, so all
 *   threads of the process are checked ten times a second while it is suspended.
 *
 * Rules with `shim = no`: once a second, the processes that use the driver and have no shim are
 * compared with these rules, and the first matching rule gives the process its priority. Other
 * rules do not apply to such processes, because a rule for processes with the shim must not cause
 * the daemon to trace other processes. Of what a rule sets, only the priority has an effect, and
 * level = observe, which exempts the process. A control request about a process overrides all rules
 * (lease.h).
 *
 * None of this costs anything while there are no such processes and no such rules.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_EXTERNAL_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_EXTERNAL_H

#include "scheduler/daemon/worker.h"

struct sysfs_queue;

/*
 * Gives process `pid` the priority of a request, 0 to 14, so that it becomes a client. With
 * PRIORITY_UNSET, the process is released and is no client any more. A repeated call with a
 * priority also retries what was refused before. `pidfd` refers to the process. The caller keeps
 * it, and has opened it before its code ran for the first time (reader.h).
 *
 * Returns 0, or a negative errno with one sentence in `problem`:
 *   an error of target_read();
 *   -EINVAL: the priority is not possible;
 *   -EEXIST: the process is a client with the shim;
 *   -ESRCH: PRIORITY_UNSET, and the process had no priority;
 *   -ENOMEM: no slot or no memory;
 *   -EAGAIN, -EINPROGRESS: as in reader.h.
 */
int external_tag(struct worker *worker, pid_t pid, int pidfd, int priority, char *problem,
		 size_t size);

/* Returns the name of the rule that gave the process its priority; empty: a request did. */
const char *external_rule(const struct external *external);

/* Reads the queues of an external process, opens its debug session and checks its threads, if that
 * is due. Called in each sweep (periodic check, loop.c), between reader_begin() and
 * reader_end(). */
void external_overdue(struct worker *worker, struct client *client, uint64_t now);

/* Evaluates the rules again for an external process whose attributes may have changed. */
void external_rules_again(struct worker *worker, struct client *client);

/* Applies the rules with `shim = no` to processes without the shim, for 2 ms at most. Called in
 * each loop iteration. The first calls also give processes again the priority that a request to an
 * earlier worker has set (lease.h). */
void external_rules_check(struct worker *worker, uint64_t now);

/* Returns the process's queues, as sysfs shows them; valid until the next external_overdue(). */
const struct sysfs_queue *external_queues(const struct external *external, uint32_t *count);

#endif
