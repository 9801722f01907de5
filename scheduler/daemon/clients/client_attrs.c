// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/client_attrs.h"

#include <string.h>

#include "common/clock.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/operator/events.h"

#define AGAIN_NS 5000000000u
#define SPREAD_NS 250000u /* time between reading the attributes of one client and of the next */

/* ---- tenant and group ---- */

/* Returns the tenant of a client: the processes of one user, PID namespace and user namespace
 * are one tenant. */
static uint32_t tenant_of(struct worker *worker, const struct client *client)
{
	const struct client *other;

	for (uint32_t i = 0; (other = worker_next(worker, CLIENT_SERVED, &i));)
		if (other != client && other->peer.uid == client->peer.uid &&
		    other->peer.pid_ns == client->peer.pid_ns &&
		    other->peer.user_ns == client->peer.user_ns)
			return other->tenant;
	return ++worker->last_tenant;
}

static bool same_rights(const struct client *a, const struct client *b)
{
	return a->tenant == b->tenant && a->attrs.can_preempt == b->attrs.can_preempt &&
	       a->attrs.preemptible_by == b->attrs.preemptible_by;
}

/* Returns the group number of a client. Clients of one tenant with the same rights and the same
 * group name are one group. 0: no group. */
static uint32_t group_of(struct worker *worker, const struct client *client)
{
	const struct client *other;

	if (!client->group[0])
		return 0;
	for (uint32_t i = 0; (other = worker_next(worker, CLIENT_SERVED, &i));)
		if (other != client && same_rights(other, client) &&
		    strcmp(other->group, client->group) == 0)
			return other->group_number;
	return ++worker->last_group;
}

/* ---- effective values ---- */

static bool ruled(const struct client *client, uint32_t effect)
{
	return client->attrs.verdict.effects & effect;
}

int client_attrs_priority(const struct client *client)
{
	const struct client_attrs *attrs = &client->attrs;

	if (ruled(client, RULE_LEVEL) && attrs->verdict.level == PROTOCOL_LEVEL_OBSERVE)
		return PRIORITY_UNSET;
	if (ruled(client, RULE_PRIORITY))
		return attrs->verdict.priority;
	return attrs->level == PROTOCOL_LEVEL_OBSERVE ? PRIORITY_UNSET
						      : client->control.own_priority;
}

static uint32_t slo_of(const struct client *client)
{
	return ruled(client, RULE_SLO) ? client->attrs.verdict.slo_us : client->control.own_slo_us;
}

static enum protocol_level level_of(const struct client *client)
{
	const struct client_attrs *attrs = &client->attrs;
	enum protocol_level level = attrs->level;

	if (ruled(client, RULE_LEVEL) && attrs->verdict.level != PROTOCOL_LEVEL_OBSERVE)
		level = attrs->verdict.level;
	if (attrs->level == PROTOCOL_LEVEL_OBSERVE && level != PROTOCOL_LEVEL_WEIGHT)
		return PROTOCOL_LEVEL_GATE;
	return level;
}

/* Applies rules and grants to a client, by its attributes as they were read last. */
static void find_attrs(struct worker *worker, struct client *client)
{
	struct client_attrs *attrs = &client->attrs;
	uint64_t can_preempt = attrs->can_preempt, preemptible_by = attrs->preemptible_by;
	const struct proc_attrs *subject = &attrs->subject;
	const char *group;

	if (!client->external) /* the rules for external processes are in external.c */
		rules_match(&worker->config.rules, subject, &attrs->verdict);
	authority_match(&worker->config.authority, subject, &attrs->can_preempt,
			&attrs->preemptible_by);
	group = ruled(client, RULE_GROUP) ? attrs->verdict.group : attrs->group;
	if (attrs->can_preempt == can_preempt && attrs->preemptible_by == preemptible_by &&
	    strcmp(client->group, group) == 0)
		return;
	snprintf(client->group, sizeof(client->group), "%s", group);
	client->group_number = group_of(worker, client);
}

/* Stores the attributes that were read for the client. Returns true if they have changed. */
static bool take_subject(struct client *client, const struct proc_attrs *subject)
{
	struct proc_attrs before = client->attrs.subject;

	client->attrs.subject = *subject;
	client->attrs.subject.uid = client->peer.uid;
	client->attrs.subject.shim = true;
	return memcmp(&before, &client->attrs.subject, sizeof(before)) != 0;
}

void client_attrs_init(struct worker *worker, struct client *client,
		       const struct proc_attrs *subject)
{
	client->tenant = tenant_of(worker, client);
	take_subject(client, subject);
	client->attrs.differs = worker->is_coming;
	find_attrs(worker, client);
	if (client->external)
		return;
	client->priority = client_attrs_priority(client);
	client->slo_us = slo_of(client);
	level_begin(client, level_of(client));
	if (client->attrs.verdict.rule[0])
		log_info("process %d (%s): rule %s", (int)client->peer.pid, client->name,
			 client->attrs.verdict.rule);
}

void client_attrs_slot(struct worker *worker, const struct client *client, uint64_t now)
{
	const struct core_rights rights = {
		.tenant = client->tenant,
		.can_preempt = client->attrs.can_preempt,
		.preemptible_by = client->attrs.preemptible_by,
	};

	feed_move(&worker->feed, client->id, &rights, client->group_number, now);
	if (client->attrs.level == PROTOCOL_LEVEL_OBSERVE)
		feed_set_victim_only(&worker->feed, client->id);
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

void client_attrs_changed(struct worker *worker, struct client *client)
{
	if (!client->control.priority_set)
		client_set_priority(worker, client, client_attrs_priority(client), NULL);
	client->slo_us = slo_of(client);
	feed_set_slo(&worker->feed, client->id, client->slo_us * UINT64_C(1000));
}

static void configured(struct worker *worker, struct client *client, uint64_t now)
{
	struct client_attrs *attrs = &client->attrs;
	char before[VALUE_NAME];

	memcpy(before, attrs->verdict.rule, sizeof(before));
	find_attrs(worker, client);
	if (strcmp(before, attrs->verdict.rule) != 0)
		log_info("process %d (%s): %s%s", (int)client->peer.pid, client->name,
			 attrs->verdict.rule[0] ? "rule " : "no rule applies any more",
			 attrs->verdict.rule);
	client_attrs_slot(worker, client, now);
	if (!client->external)
		client_attrs_changed(worker, client);
}

/* Returns true if the rules or grants of `config` give the client other values than it has now. */
static bool differs(const struct config *config, const struct client *client)
{
	const struct client_attrs *attrs = &client->attrs;
	struct rule_match verdict = attrs->verdict;
	uint64_t can_preempt, preemptible_by;

	if (!client->external)
		rules_match(&config->rules, &attrs->subject, &verdict);
	authority_match(&config->authority, &attrs->subject, &can_preempt, &preemptible_by);
	return can_preempt != attrs->can_preempt || preemptible_by != attrs->preemptible_by ||
	       memcmp(&verdict, &attrs->verdict, sizeof(verdict)) != 0;
}

bool client_attrs_compare(struct worker *worker, uint64_t end_ns)
{
	struct client *client;

	while ((client = worker_next(worker, CLIENT_SERVED, &worker->compared))) {
		client->attrs.differs |= differs(&worker->coming, client);
		if (clock_ns() >= end_ns)
			break;
	}
	return worker->compared >= worker->client_end;
}

void client_attrs_configured(struct worker *worker, bool again, uint64_t now)
{
	struct client *client;
	uint32_t count = 0;

	for (uint32_t i = 0; (client = worker_next(worker, CLIENT_SERVED, &i));) {
		if (client->attrs.differs)
			configured(worker, client, now);
		client->attrs.differs = false;
		if (again)
			client->attrs.again_ns = now + count++ * (uint64_t)SPREAD_NS;
	}
}

bool client_attrs_overdue(struct worker *worker, struct client *client, uint64_t now)
{
	struct client_attrs *attrs = &client->attrs;
	struct proc_attrs subject;
	int error;

	if (!attrs->again_ns || now < attrs->again_ns)
		return false;
	error = reader_subject(client->peer.pid, &subject);
	if (error == -EINPROGRESS)
		return false;
	attrs->again_ns = error == -EAGAIN ? now + AGAIN_NS : 0;
	if (error || !take_subject(client, &subject))
		return false;
	attrs->differs |= worker->is_coming;
	configured(worker, client, now);
	return true;
}
