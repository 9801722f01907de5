// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/hold_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "scheduler/daemon/clients/client_actions.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/operator/events.h"

/* A thread of a client needs milliseconds to acknowledge on a busy host. A client that needs
 * this long is stopped, or does not follow commands. */
#define REPLY_NS 1000000000u

/* Updates whether the client can be held. Level self needs a debug session of its own, or
 * UPDATE_QUEUE; the other levels need nothing. */
static void set_capability(struct worker *worker, struct client *client)
{
	bool able = client->hold_cmd_level != CLIENT_SHM_LEVEL_SELF ||
		    client->own_session != CLIENT_SHM_OWN_NONE;
	struct reason why;

	if (!client_may_be_held(client) || client->refused || worker->stopping ||
	    level_is_changing(client))
		return;
	if (able) {
		feed_set_capability(&worker->feed, client->id, CORE_ABLE);
		if (level_explain(client)) {
			level_log(worker, client);
			return;
		}
		if (client->reason.code != REASON_NONE) {
			log_client(&client->log, "process %d (%s): level %s", (int)client->peer.pid,
				   client->name, client_level_name(client));
			events_level(worker, client, true);
		}
		client->reason = (struct reason){0};
	} else if (client->runtime == CLIENT_SHM_RUNTIME_ENABLED) {
		/* a rule set level self, its session was ended, or its runtime was enabled again */
		level_again(worker, client);
	} else if (client->runtime == CLIENT_SHM_RUNTIME_NEVER) {
		client_why_never(client, REASON_no_own_session, &why);
		if (level_may_change(client))
			level_fall(worker, client, &why, clock_ns());
		else
			client_cannot(worker, client, &why);
	} else {
		reason_set(&client->reason, REASON_runtime_not_yet, 0, 0, NULL);
		feed_set_capability(&worker->feed, client->id, CORE_PENDING);
	}
}

/* The client has acknowledged. `error` and `took_us` are values from the client and may be
 * anything. */
static void send_result(struct worker *worker, struct client *client, uint32_t error,
			uint32_t took_us, uint64_t now)
{
	struct executor_report report = {
		.error = error > 0 && error < 0xfff ? -(int)error
			 : error		    ? -EPROTO
						    : 0,
		.cost = {.entry_ns = client->hold_cmd_ns, .duration_ns = took_us * UINT64_C(1000)},
	};

	client->hold_cmd_pending = false;
	if (client->preparing) {
		client->preparing = false;
		level_prepared(worker, client, report.error, now);
		return;
	}
	/* A hold was not possible at that moment, and nothing was tried. */
	if (error == ECANCELED && client->acting == CORE_SUSPEND) {
		feed_finished(&worker->feed, client->id, -ECANCELED, 0, now);
		return;
	}
	client->hold_acked = error == 0 && client->acting == CORE_SUSPEND;
	client_acted(worker, client, &report, now);
}

/* The client had acknowledged a hold and now reports that it is not held any more. */
static void lost(struct worker *worker, struct client *client, uint32_t error, uint64_t now)
{
	struct reason why;

	client->hold_acked = false;
	reason_set(&why, REASON_hold_ended, 0, -EPROTO, "%s", strerror(error & 0xfff));
	level_fall(worker, client, &why, now);
}

bool hold_cmd_scan(struct worker *worker, struct client *client, uint64_t now)
{
	uint32_t own = shm_word(&client->shm->own_session),
		 runtime = shm_word(&client->shm->runtime);
	bool changed = false;

	if (own != client->own_session || runtime != client->runtime || !client->evaluated) {
		client->own_session = own;
		client->runtime = runtime;
		client->evaluated = true;
		set_capability(worker, client);
		changed = true;
	}
	if (client->hold_cmd_pending && shm_word(&client->shm->hold_cmd_done) == client->hold_cmd) {
		send_result(worker, client,
			    shm_word((const uint32_t *)&client->shm->hold_cmd_errno),
			    shm_word(&client->shm->hold_cmd_us), now);
		changed = true;
	} else if (client->hold_acked && shm_word((const uint32_t *)&client->shm->hold_cmd_errno)) {
		lost(worker, client, shm_word((const uint32_t *)&client->shm->hold_cmd_errno), now);
		changed = true;
	}
	return changed;
}

void hold_cmd_overdue(struct worker *worker, struct client *client, uint64_t now)
{
	if (!client->hold_cmd_pending || client->preparing || now < client->hold_cmd_ns + REPLY_NS)
		return;
	/* The daemon itself may have been stopped: check the acknowledgement again. */
	if (shm_word(&client->shm->hold_cmd_done) == client->hold_cmd)
		return;
	/* A release is in the client's shared memory and the client will read it. A hold also
	 * ends by itself when the daemon does not renew it (shim/hold.h). */
	if (client->acting == CORE_RESUME) {
		send_result(worker, client, 0, 0, now);
		return;
	}
	send_result(worker, client, ETIMEDOUT, 0, now);
	level_fall_by(worker, client, REASON_no_acknowledgement, -ETIMEDOUT, now);
}
