/* SPDX-License-Identifier: MIT */
/*
 * The only interface between the worker and the core. Each function calls the function of the
 * core with the same name (sched.h); with --record it also writes a line about the call to the
 * recording (docs/reference/scheduler-recording.md).
 *
 * The core requires times that never decrease. Some code passes the start time of the loop
 * iteration although the core has decided with a later time since; the core then gets the later
 * time.
 *
 * Lines are written to a pipe, and a separate process copies the pipe to the file (record.h).
 * Nothing waits for that process: lines for which the pipe has no room stay in a buffer, and
 * when the buffer is full, the recording ends with a log line. Each line reaches the pipe
 * complete.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_RECORDING_FEED_H
#define KFDSHIM_SCHEDULER_DAEMON_RECORDING_FEED_H

#include <limits.h>

#include "scheduler/core/sched.h"

#define FEED_BUFFER (1u << 20) /* bytes */
/* maximum bytes of one write, which the pipe accepts completely or not at all */
#define FEED_PIECE PIPE_BUF
#define FEED_FLUSH_NS UINT64_C(40000000) /* maximum delay of a line */

struct feed {
	struct core *core;
	uint64_t now_ns;      /* latest time that was passed to the core */
	uint64_t deadline_ns; /* last deadline of the core */
	bool changed;	      /* an event has happened since the last decision */

	/* state of the recording; NULL and 0 if there is none */
	int out;	   /* the pipe; -1: no recording */
	uint64_t start_ns; /* times in the recording are relative to this */
	char *text;	   /* lines that are not in the pipe yet */
	size_t used;	   /* bytes in `text` */
	uint64_t flushed_ns;
	core_id *living; /* known clients, by core_index() */
};

/* Creates the core for `max_clients` clients. `out` is the non-blocking pipe, -1: no recording;
 * the caller keeps ownership. Returns the core for reading, or NULL if there is no memory. */
const struct core *feed_create(struct feed *feed, const struct core_config *config,
			       uint32_t max_clients, int out, uint64_t start_ns, uint64_t now);

/* Frees the core and the buffers of the recording. */
void feed_destroy(struct feed *feed);

void feed_configure(struct feed *feed, const struct core_config *config);
bool feed_set_policy(struct feed *feed, uint32_t gpu_id, const struct core_policy *policy);
core_id feed_add(struct feed *feed, uint32_t tenant, uint32_t group, int priority, uint64_t now);
void feed_move(struct feed *feed, core_id client, const struct core_rights *rights, uint32_t group,
	       uint64_t now);
void feed_remove(struct feed *feed, core_id client);
void feed_set_capability(struct feed *feed, core_id client, enum core_capability capability);
void feed_clear_exempt(struct feed *feed, core_id client);
void feed_set_priority(struct feed *feed, core_id client, int priority);
void feed_set_victim_only(struct feed *feed, core_id client);
void feed_set_slo(struct feed *feed, core_id client, uint64_t slo_ns);
bool feed_set_activity(struct feed *feed, core_id client, uint32_t gpu_id, bool active,
		       uint64_t now);
void feed_set_teardown(struct feed *feed, core_id client, bool teardown_begin);
void feed_set_lease(struct feed *feed, core_id client, uint64_t until_ns);
void feed_finished(struct feed *feed, core_id client, int error, uint64_t duration_ns,
		   uint64_t now);

/* Calls core_decide(). The call is not recorded if it cannot change anything: nothing has happened
 * since the last decision, and no deadline has passed. */
size_t feed_decide(struct feed *feed, uint64_t now, struct core_action *actions, size_t max,
		   uint64_t *deadline);

/* Writes recorded lines to the pipe if FEED_FLUSH_NS has passed or FEED_PIECE bytes are there.
 * Called in each loop iteration. */
void feed_iterate(struct feed *feed, uint64_t now);

/* Writes recorded lines to the pipe, as many as it accepts. Also called when the worker ends. */
void feed_flush(struct feed *feed);

#endif
