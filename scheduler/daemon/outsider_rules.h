/* SPDX-License-Identifier: MIT */
/*
 * Outsiders by rule: rules of the configuration that say `shim = no`. Every second the
 * processes that use the driver and have no shim are looked at, and the first such rule
 * that applies tags them. Other rules do not concern them: what is meant for those who
 * take part must not have strangers traced. Of the effects only the priority counts, and
 * level = observe, which spares them.
 *
 * An order about a process counts instead of any rule (control.h). Without such a rule
 * this costs nothing. For the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OUTSIDER_RULES_H
#define KFDSHIM_SCHEDULER_DAEMON_OUTSIDER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct client;
struct rules;
struct worker;

/* A part of struct worker. */
struct outsider_rules {
	uint32_t config_number; /* of which configuration they are */
	struct rules *rules;	/* NULL: there are none */
	uint64_t looked_ns;
	pid_t *pids; /* to look at in the next turns; NULL: none */
	size_t count, next;
	int pidfd;	 /* of the next one, while it is read; -1 */
	bool unrestored; /* a process tagged for an earlier worker has not been read */
};

/* When a worker begins: the processes that an earlier one had tagged by an order (kept.h) are
 * tagged again. */
void outsider_rules_begin(struct worker *worker);
/* What the kernel says of a tagged process may have changed: do rules still say so? */
void outsider_rules_again(struct worker *worker, struct client *client);
/* At every turn of the loop. */
void outsider_rules_look(struct worker *worker, uint64_t now);

#endif
