// SPDX-License-Identifier: MIT
/* Scans of a client's shared memory, and changes of its level that follow from them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/cwsr.h"
#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/external.h"
#include "scheduler/daemon/clients/hold_command.h"
#include "scheduler/daemon/config/owners.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/worker.h"

void client_explain(struct client *client)
{
	const char *why = "has not enabled its runtime yet";

	if (client->attached)
		why = "";
	else if (client->external)
		why = external_pending(client);
	else if (client->attrs.level == PROTOCOL_LEVEL_SELF && !client->hold_cmd_level)
		why = "keeps its debug session (KFDSHIM_LEVEL=self), so level trap of a rule is "
		      "not possible";
	if (client->priority == PRIORITY_UNSET && !client->control.leased)
		why = "has no priority";
	else if (client->priority == PRIORITY_ONLINE && !client->control.leased)
		why = "has the highest priority: it is never preempted";
	snprintf(client->reason, sizeof(client->reason), "%s", why);
}

void client_attach(struct worker *worker, struct client *client, bool patient)
{
	const struct executor_tenant tenant = {
		.uid = client->peer.uid,
		.owner = owners_find(&worker->config.owners, client->peer.uid),
		.pid_ns = client->peer.pid_ns,
		.user_ns = client->peer.user_ns,
	};
	char why[KFD_REASON];
	int error = executor_start(client->peer.pid, client->peer.started, &tenant, patient,
				   &client->executor);

	if (!error) {
		worker->by_executor[executor_number(client->executor)] = client;
		worker->executor_count++;
		return;
	}
	if (error == -EBUSY)
		snprintf(why, sizeof(why),
			 "too many executors of its tenant hang in driver "
			 "calls");
	else if (error == -ENOSPC)
		snprintf(why, sizeof(why),
			 "no executor is available: all are in use, or its user has half of them");
	else
		snprintf(why, sizeof(why), "no executor is available: %s", strerror(-error));
	level_fall(worker, client, -EAGAIN, why, worker->now_ns);
}

void client_why_never(const struct client *client, const char *what, char why[KFD_REASON])
{
	uint32_t error = shm_word((const uint32_t *)&client->shm->runtime_errno);

	/* The shim reads the same files, but its shared memory has no room for a sentence. */
	if (error == EOPNOTSUPP && cwsr_is_missing(why))
		return;
	snprintf(why, KFD_REASON, "%s: %s", what, strerror(error & 0xfff));
}

/* The runtime's state has changed: opens a session, or updates whether the client can be
 * suspended. */
static void runtime_changed(struct worker *worker, struct client *client)
{
	char why[KFD_REASON];

	if (!control_may_be_held(client) || client->refused || client->level.changing ||
	    worker->stopping)
		return;
	switch (client->runtime) {
	case CLIENT_SHM_RUNTIME_ENABLED:
		if (!client->executor)
			client_attach(worker, client, true);
		else if (client->attached)
			feed_set_capability(&worker->feed, client->id, CORE_ABLE);
		break;
	case CLIENT_SHM_RUNTIME_NEVER:
		if (client->attached)
			break;
		client_why_never(client, "its runtime cannot be enabled", why);
		level_fall(worker, client, -EOPNOTSUPP, why, clock_ns());
		break;
	default:
		feed_set_capability(&worker->feed, client->id, CORE_PENDING);
	}
}

static bool scan_node(struct worker *worker, struct client *client, uint32_t slot, uint64_t now)
{
	struct client_shm_node node;

	if (client_shm_node_read(client->shm, slot, &node) != 0)
		return false;
	if (node.gpu_id != client->gpu_id[slot]) {
		/* The protocol only appends nodes. A client that changes a node loses it. */
		if (client->gpu_id[slot])
			return false;
		client->gpu_id[slot] = node.gpu_id;
		if (!nodes_known(worker, node.gpu_id))
			nodes_read(worker, now);
	} else if (node.activity == client->activity[slot]) {
		return false;
	}
	metrics_settle(worker, client, now);
	if ((client->activity[slot] ^ node.activity) & 1)
		nodes_work(worker, node.gpu_id, node.activity & 1, now);
	client->activity[slot] = node.activity;
	client->active_ns[slot] = node.active_ns;
	client->idle_ns[slot] = node.idle_ns;
	feed_set_activity(&worker->feed, client->id, node.gpu_id, node.activity & 1, now);
	return true;
}

void client_reconsider(struct worker *worker, struct client *client)
{
	if (client->refused)
		return;
	client_explain(client);
	if (client->hold_cmd_level)
		client->handshake_done =
			false; /* so that the next scan evaluates if it can be held */
	else
		runtime_changed(worker, client);
}

void client_set_priority(struct worker *worker, struct client *client, int priority,
			 const struct client *by)
{
	if (priority == client->priority)
		return;
	client->priority = priority;
	feed_set_priority(&worker->feed, client->id, priority);
	log_client(&client->log, "process %d (%s): priority %d", (int)client->peer.pid,
		   client->name, priority);
	events_priority(worker, client, by);
	client_reconsider(worker, client);
}

/* The program may change its priority (kfdshim.h). */
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

	if (slo_us == client->attrs.slo_us)
		return false;
	client->attrs.slo_us = slo_us;
	client_attrs_changed(worker, client);
	return true;
}

bool client_scan_teardown(struct worker *worker, struct client *client)
{
	/* `teardown_end` first: read in this order, it is never ahead of `teardown_begin` */
	uint32_t teardown_end = shm_word(&client->shm->teardown_end);
	uint32_t teardown_begin = shm_word(&client->shm->teardown_begin);

	if (teardown_end == client->teardown_end && teardown_begin == client->teardown_begin)
		return false;
	client->teardown_end = teardown_end;
	client->teardown_begin = teardown_begin;
	feed_set_teardown(&worker->feed, client->id, teardown_begin != teardown_end);
	client_want_release(worker, client);
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
		runtime_changed(worker, client);
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
