/* SPDX-License-Identifier: MIT */
/*
 * The only way from the worker to the core: each function makes the core's call of the same
 * name (core.h) and, with --record, writes a line of it to the recording (docs/formats.md).
 *
 * The core wants times that never go back. Parts of the loop's turn pass the time when the turn
 * began, although the core has decided since with a later one: the core gets the later one.
 *
 * A line goes to a pipe that a process of its own empties into the file (record.h). Nothing
 * waits for that process: lines that the pipe does not take stay in a buffer, and when that is
 * full the recording ends, with a line in the log. Lines reach the pipe whole.
 *
 * Threads: the worker's loop.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_FEED_H
#define KFDSHIM_SCHEDULER_DAEMON_FEED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/core.h"

#define FEED_BUFFER (1u << 20)
#define FEED_PIECE PIPE_BUF /* of one write, which the pipe takes as a whole or not at all */
#define FEED_FLUSH_NS UINT64_C(40000000)

struct feed {
	struct core *core;
	uint64_t now_ns;      /* the last time that the core was given */
	uint64_t deadline_ns; /* as the core said last */
	bool changed;	      /* an event since the last decision */

	/* The recording; all NULL and 0 without one. */
	int out;
	uint64_t start_ns; /* its times are relative to this */
	char *text;	   /* not in the pipe yet */
	size_t used;
	uint64_t flushed_ns;
	core_id *living; /* clients by core_index() */
};

/*
 * An empty core for that many clients. out: the pipe, written without waiting; -1: there is no
 * recording. Returns the core, to look at; NULL: no memory.
 */
const struct core *feed_create(struct feed *feed, const struct core_config *config,
			       uint32_t max_clients, int out, uint64_t start_ns, uint64_t now);
void feed_destroy(struct feed *feed);

void feed_configure(struct feed *feed, const struct core_config *config);
bool feed_set_policy(struct feed *feed, uint32_t gpu_id, const struct core_policy *policy);
core_id feed_add(struct feed *feed, uint32_t tenant, uint32_t group, int priority, uint64_t now);
void feed_move(struct feed *feed, core_id client, const struct core_rights *rights, uint32_t group,
	       uint64_t now);
void feed_remove(struct feed *feed, core_id client);
void feed_set_capability(struct feed *feed, core_id client, enum core_capability capability);
void feed_forgive(struct feed *feed, core_id client);
void feed_set_priority(struct feed *feed, core_id client, int priority);
void feed_set_passive(struct feed *feed, core_id client);
void feed_set_slo(struct feed *feed, core_id client, uint64_t slo_ns);
bool feed_set_activity(struct feed *feed, core_id client, uint32_t gpu_id, bool active,
		       uint64_t now);
void feed_set_leaving(struct feed *feed, core_id client, bool leaving);
void feed_set_lease(struct feed *feed, core_id client, uint64_t until_ns);
void feed_finished(struct feed *feed, core_id client, int error, uint64_t duration_ns,
		   uint64_t now);
/* Not recorded if it can change nothing: no event since the last one, and no deadline. */
size_t feed_decide(struct feed *feed, uint64_t now, struct core_action *actions, size_t max,
		   uint64_t *deadline);

/* Once in a turn of the loop: passes on what has been recorded, in pieces, at most every
 * FEED_FLUSH_NS or when there is a whole piece. */
void feed_turn(struct feed *feed, uint64_t now);
/* The same, and all that the pipe takes: when the worker ends. */
void feed_flush(struct feed *feed);

#endif
