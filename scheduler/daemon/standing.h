/* SPDX-License-Identifier: MIT */
/*
 * What a client counts as: by its own word; or by the rule of the configuration that
 * applies to it, which is stronger; or by what a person orders (control.h), which is the
 * strongest. And whose it is: whom it may preempt, and who it.
 *
 * Who says level observe of itself preempts nobody, whatever a rule says. Held it is
 * where a rule or a person gives it a priority: by the gate, for its runtime is not
 * enabled.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_STANDING_H
#define KFDSHIM_SCHEDULER_DAEMON_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/protocol.h"
#include "scheduler/daemon/match.h"

struct client;
struct worker;

/* A part of struct client. Its own priority stands in struct control. */
struct standing {
	/* what it says itself */
	uint32_t slo_us;
	enum protocol_level level;
	char group[PROTOCOL_GROUP_MAX];

	struct subject subject; /* as it was read last */
	struct verdict verdict;
	uint64_t may, lets; /* bits of grants (match.h) */
	uint64_t again_ns;  /* when to read it again; 0: not */
};

/* Its peer is known, what it says itself, and what the kernel says of it: all else follows
 * (client->priority, slo_us, group, tenant, by_order). An outsider has its priority from
 * elsewhere. */
void standing_came(struct worker *worker, struct client *client, const struct subject *subject);
/* The core has it: whose it is there. */
void standing_place(struct worker *worker, const struct client *client, uint64_t now);
/* Its priority and its objective by its rule, or else by its own word, which may have
 * changed: they count from now on, unless a person ordered otherwise. */
int standing_priority(const struct client *client);
void standing_changed(struct worker *worker, struct client *client);
/* Another configuration is in force: of every client, by what was read of it last. Then each is
 * read again. A level counts from the next time that a process comes. */
void standing_configured(struct worker *worker, uint64_t now);
/* At every turn of the loop, between reader_begin() and reader_end(): reads it, if that is due. */
void standing_overdue(struct worker *worker, struct client *client, uint64_t now);
/* May `who` preempt `whom`, if it is more urgent? */
bool standing_may(const struct client *who, const struct client *whom);

#endif
