/* SPDX-License-Identifier: MIT */
/*
 * What the daemon does and why, told to whoever asks (PROTOCOL_EVENTS), as it happens:
 * one JSON object a packet (docs/formats.md). They show what the status shows, to
 * whom the status is shown. The last of them are kept for who asks afterwards
 * (PROTOCOL_RECENT).
 *
 * A reader that does not read loses events and is told how many; nobody waits for one.
 * JSON is made for readers alone. All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EVENTS_H
#define KFDSHIM_SCHEDULER_DAEMON_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/core.h"
#include "scheduler/daemon/event.h"
#include "scheduler/daemon/executor.h"

struct client;
struct worker;

#define EVENTS_READERS 16u
#define EVENTS_KEPT 256u /* a power of two */

/* A part of struct worker. */
struct events {
	uint32_t readers;
	uint64_t number; /* of the last event */
	struct event kept[EVENTS_KEPT];
};

/* A part of struct client. */
struct news {
	/* of a workload: why its action in flight (NULL: not looked up), and who caused it
	 * (0: nobody) */
	const char *reason;
	int cause_pid;
	uint32_t cause_gpu_id;
	bool by_lease;	  /* its last suspension */
	bool has_latency; /* latency_ns is known */
	uint64_t latency_ns;
	/* of a reader: not sent, and not told yet; and when that is tried again */
	uint64_t lost, retry_ns;
};

/* A command that said hello with PROTOCOL_EVENTS. 0, or -EUSERS: there are too many. */
int events_subscribe(struct worker *worker, struct client *client);
/* At every turn of the loop, for a reader. */
void events_overdue(struct client *client);
/* It is CLIENT_DEAD from now on. */
void events_gone(struct worker *worker);

/* The kept ones after number *at, a few (STATUS_PIECE) at a time until *at is `newest`; the
 * caller owns the list. */
json_t *events_recent(const struct worker *worker, uint64_t *at, uint64_t newest);

/* An action of the core is on its way: remembers why. */
void events_decided(struct worker *worker, struct client *client, uint64_t now);
/* It ended. */
void events_acted(struct worker *worker, const struct client *client,
		  const struct executor_report *report);

void events_came(struct worker *worker, const struct client *client);
void events_went(struct worker *worker, const struct client *client, const char *why);
/* It can be suspended, or cannot, with its reason. */
void events_level(struct worker *worker, const struct client *client, bool able);
/* by: whose order; NULL: its own, or the daemon's. */
void events_priority(struct worker *worker, const struct client *client, const struct client *by);
void events_lease(struct worker *worker, const struct client *client);
void events_policy(struct worker *worker, uint32_t gpu_id, const struct core_policy *policy,
		   const struct client *by);

#endif
