/* SPDX-License-Identifier: MIT */
/*
 * Outsiders: processes without the shim that use the driver, and that somebody has
 * tagged with a priority. They do not know of us and say nothing, so:
 *
 * - Only the suspended side. What they have in flight cannot be seen, only which queues
 *   they have: one counts as active on each node where it has a compute queue, and
 *   holds nobody back itself (core_set_passive).
 * - Their lane is the daemon's own, which fills it with what the shim would say, as far
 *   as sysfs, the session and /proc tell it. Everything else takes them as any client.
 * - A session can only be tried, once there are compute queues: a runtime enables itself
 *   before its first queue or never (the driver: EEXIST), so the state that ENABLE finds
 *   then is the last word. ROCr 5.2.3 alone never does.
 * - A DESTROY_QUEUE sleeps while the queue is suspended. Nobody announces it, so all
 *   threads are looked at ten times a second while the process is suspended.
 *
 * Nothing of this costs anything while nobody is tagged. All functions for the loop's
 * thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OUTSIDER_H
#define KFDSHIM_SCHEDULER_DAEMON_OUTSIDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct worker;
struct client;
struct outsider;

/*
 * Somebody with the right to has it that process `pid` has this priority, 0 to 14, or
 * from now on none (PRIORITY_UNSET): then it is let go. Again with a priority: also what
 * was refused before is tried again. pidfd: of the process, the caller's, open since before the
 * first run (reader.h). 0, or a negative errno and one sentence in `problem`: as target_open(),
 * -EINVAL no such priority, -ESRCH it was not tagged, -EINPROGRESS as in reader.h.
 */
int outsider_tag(struct worker *worker, pid_t pid, int pidfd, int priority, char *problem,
		 size_t size);

/* The same by a rule of that name; never of one that an order has tagged. */
int outsider_tag_by_rule(struct worker *worker, pid_t pid, int pidfd, int priority,
			 const char *rule, char *problem, size_t size);
/* Which rule has tagged it; empty: an order. */
const char *outsider_rule(const struct outsider *outsider);
/* At every turn of the loop, for one that is served: what is due? */
void outsider_overdue(struct worker *worker, struct client *client, uint64_t now);
/* Its session has told of something (EXECUTOR_CHANGED). */
void outsider_changed(struct client *client);
/* What is waited for before it can be suspended. */
const char *outsider_pending(const struct client *client);
/* Appends its queues to a JSON array, as far as sysfs tells. */
void outsider_queues_json(const struct outsider *outsider, json_t *list);

#endif
