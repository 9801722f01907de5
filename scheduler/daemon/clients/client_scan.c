// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/client_scan.h"

#include <string.h>
#include <sys/epoll.h>

#include "common/clock.h"
#include "scheduler/daemon/clients/client_attrs.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/operator/events.h"

#define LATE_NS 200000u
/* A thread of a client needs milliseconds to acknowledge a hold command on a busy host. A client
 * that needs this long is stopped, or does not follow commands. */
#define REPLY_NS 1000000000u

static const struct ratelimit_rule client_rule = {.burst = 100, .period_ns = LATE_NS};
static const struct ratelimit_rule user_rule = {.burst = 6000, .period_ns = 16667};

/* ---- commands to hold ---- */

/* Passes to the core whether the client can be held. For level self it needs a debug session of its
 * own, or UPDATE_QUEUE; the other levels need nothing. */
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
		/* a rule has set level self, the client's session has ended, or its runtime was
		 * enabled again */
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

/* Handles the acknowledgement of a hold command (HOLD_CMD). `error` and `took_us` come from the
 * client and may have any value. */
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
	/* The client could not hold itself at that moment, and has not tried. */
	if (error == ECANCELED && client->acting == CORE_SUSPEND) {
		feed_finished(&worker->feed, client->id, -ECANCELED, 0, now);
		return;
	}
	client->hold_acked = error == 0 && client->acting == CORE_SUSPEND;
	client_acted(worker, client, &report, now);
}

/* Lowers the level of a client that had acknowledged a hold and now reports that it is not held. */
static void lost(struct worker *worker, struct client *client, uint32_t error, uint64_t now)
{
	struct reason why;

	client->hold_acked = false;
	reason_set(&why, REASON_hold_ended, 0, -EPROTO, "%s", strerror(error & 0xfff));
	level_fall(worker, client, &why, now);
}

/* Reads from the shared memory the client's own debug session, its runtime state and its
 * acknowledgement of the hold command. Returns true if something had changed. */
static bool hold_cmd_scan(struct worker *worker, struct client *client, uint64_t now)
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
	/* The daemon itself may have been stopped: check the acknowledgement of the hold command
	 * again. */
	if (shm_word(&client->shm->hold_cmd_done) == client->hold_cmd)
		return;
	/* Count a release as done: the client will read the command, and its hold also ends if the
	 * daemon does not renew it (shim/hold.h). */
	if (client->acting == CORE_RESUME) {
		send_result(worker, client, 0, 0, now);
		return;
	}
	send_result(worker, client, ETIMEDOUT, 0, now);
	level_fall_by(worker, client, REASON_no_acknowledgement, -ETIMEDOUT, now);
}

/* ---- scans ---- */

static bool scan_node(struct worker *worker, struct client *client, uint32_t slot, uint64_t now)
{
	struct seen_node *seen = &client->seen[slot];
	struct client_shm_node node;

	if (client_shm_node_read(client->shm, slot, &node) != 0)
		return false;
	if (node.gpu_id != seen->gpu_id) {
		/* A client may only add nodes: changes of an entry are ignored. */
		if (seen->gpu_id)
			return false;
		metrics_settle(worker, client, now);
		seen->gpu_id = node.gpu_id;
		if (!nodes_known(&worker->nodes, node.gpu_id))
			nodes_read(&worker->nodes, now);
	} else if (node.activity == seen->activity) {
		return false;
	}
	metrics_settle_work(worker, client, now);
	if ((seen->activity ^ node.activity) & 1)
		nodes_work(&worker->nodes, node.gpu_id, node.activity & 1, now);
	seen->activity = node.activity;
	seen->active_ns = node.active_ns;
	seen->idle_ns = node.idle_ns;
	feed_set_activity(&worker->feed, client->id, node.gpu_id, node.activity & 1, now);
	return true;
}

/* Applies the priority if the program has changed it (kfdshim.h), and then returns true. */
static bool scan_priority(struct worker *worker, struct client *client)
{
	int priority = (int)shm_word((const uint32_t *)&client->shm->priority);

	if (priority == client->control.own_priority || priority < PRIORITY_UNSET ||
	    priority > PRIORITY_ONLINE)
		return false;
	client->control.own_priority = priority;
	client_attrs_changed(worker, client);
	return true;
}

static bool scan_slo(struct worker *worker, struct client *client)
{
	uint32_t slo_us = shm_word(&client->shm->slo_us);

	if (slo_us == client->control.own_slo_us)
		return false;
	client->control.own_slo_us = slo_us;
	client_attrs_changed(worker, client);
	return true;
}

bool client_scan(struct worker *worker, struct client *client, uint64_t now)
{
	uint32_t runtime, generation;
	bool changed = false;

	for (uint32_t i = 0; client_shm_node_id(client->shm, i); i++)
		changed |= scan_node(worker, client, i, now);
	changed |= client_scan_teardown(worker, client);
	changed |= scan_priority(worker, client);
	changed |= scan_slo(worker, client);
	if (client->hold_cmd_level)
		changed |= hold_cmd_scan(worker, client, now);
	runtime = shm_word(&client->shm->runtime);
	if (!client->hold_cmd_level && runtime != client->runtime) {
		client->runtime = runtime;
		client_runtime_changed(worker, client);
		changed = true;
	}
	generation = shm_word(&client->shm->queue_generation);
	if (generation != client->generation) {
		client->generation = generation;
		if (client->attached)
			executor_send(client->executor, EXECUTOR_COLLECT);
		changed = true;
	}
	return changed;
}

/* ---- rate limit ---- */

/* Watches the client's eventfd, or stops watching it. It is watched edge-triggered and never read.
 * epoll reports writes that happened while it was not watched as soon as it is watched again. */
static void watch(struct worker *worker, struct client *client, bool wake)
{
	if (client->wake_fd >= 0)
		worker_rewatch(worker, client->wake_fd, wake ? EPOLLIN | EPOLLET : 0, WORKER_WAKE,
			       client);
}

/* Counts one scan for the rate limits of the client and of its user. Returns false if one of them
 * is exceeded. */
static bool take(struct worker *worker, struct client *client, uint64_t now)
{
	struct user *user = worker_user(worker, client);

	if (ratelimit_next(&client->scan_limit.limit, &client_rule, now) > now ||
	    !ratelimit_take(&user->scans, &user_rule, now))
		return false;
	worker->totals.scans++;
	return ratelimit_take(&client->scan_limit.limit, &client_rule, now);
}

static void put_off(struct worker *worker, struct client *client, uint64_t now)
{
	struct scan_limits *scans = &worker->scans;

	client->scan_limit.put_off++;
	if (client->scan_limit.late)
		return;
	client->scan_limit.late = true;
	watch(worker, client, false);
	if (scans->late_count == 0)
		scans->next_ns = now + LATE_NS;
	/* each client is in the list once */
	scans->late[scans->late_count++] = (uint16_t)client->slot;
	if (client->scan_limit.named ||
	    ratelimit_next(&client->scan_limit.limit, &client_rule, now) <= now)
		return;
	client->scan_limit.named = true;
	log_client(&client->log,
		   "process %d (%s): more than %u shared-memory updates per second; further "
		   "updates are coalesced",
		   (int)client->peer.pid, client->name,
		   (unsigned)(1000000000u / client_rule.period_ns));
}

bool scan_woken(struct worker *worker, struct client *client, uint64_t now)
{
	if (!client->scan_limit.late && take(worker, client, now))
		return client_scan(worker, client, now);
	put_off(worker, client, now);
	return false;
}

bool scan_unwoken(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->scan_limit.late || !client_scan(worker, client, now))
		return false;
	/* If the rate limit is exceeded, the next scan is deferred. */
	if (!take(worker, client, now))
		put_off(worker, client, now);
	return true;
}

void scan_late(struct worker *worker, uint64_t now)
{
	struct scan_limits *scans = &worker->scans;
	struct client *client;

	if (!scans->late_count || now < scans->next_ns)
		return;
	scans->next_ns = now + LATE_NS;
	/* From the end, because the last element replaces the one that is removed. */
	for (uint32_t i = scans->late_count; i-- > 0;) {
		client = worker->clients[scans->late[i]];
		if (!take(worker, client, now))
			continue;
		client->scan_limit.late = false;
		scans->late[i] = scans->late[--scans->late_count];
		watch(worker, client, true);
		client_scan(worker, client, now);
	}
}

void scan_limit_forget(struct worker *worker, struct client *client)
{
	struct scan_limits *scans = &worker->scans;

	for (uint32_t i = 0; client->scan_limit.late && i < scans->late_count; i++)
		if (scans->late[i] == client->slot) {
			client->scan_limit.late = false;
			scans->late[i] = scans->late[--scans->late_count];
		}
}

uint64_t scan_next_ns(const struct worker *worker)
{
	return worker->scans.late_count ? worker->scans.next_ns : UINT64_MAX;
}
