// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/client_attrs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/reader/reader.h"
#include "scheduler/daemon/worker.h"

#define AGAIN_NS 5000000000u
#define SPREAD_NS 250000u /* from the reading of one client's attributes to the next one's */

/* ---- tenant and group ---- */

/* Returns the tenant of a client: the processes of one user, PID namespace and user namespace
 * are one tenant. */
static uint32_t tenant_of(struct worker *worker, const struct client *client)
{
	for (uint32_t i = 0; i < worker->client_end; i++) {
		const struct client *other = worker->clients[i];

		if (other && other != client && other->phase == CLIENT_SERVED &&
		    other->peer.uid == client->peer.uid &&
		    other->peer.pid_ns == client->peer.pid_ns &&
		    other->peer.user_ns == client->peer.user_ns)
			return other->tenant;
	}
	return ++worker->last_tenant;
}

static bool same_rights(const struct client *a, const struct client *b)
{
	return a->tenant == b->tenant && a->standing.can_preempt == b->standing.can_preempt &&
	       a->standing.preemptible_by == b->standing.preemptible_by;
}

/* Returns the group number of a client. Clients of one tenant with the same rights and the same
 * group name are one group. 0: no group. */
static uint32_t group_of(struct worker *worker, const struct client *client)
{
	if (!client->group[0])
		return 0;
	for (uint32_t i = 0; i < worker->client_end; i++) {
		const struct client *other = worker->clients[i];

		if (other && other != client && other->phase == CLIENT_SERVED &&
		    same_rights(other, client) && strcmp(other->group, client->group) == 0)
			return other->group_number;
	}
	return ++worker->last_group;
}

bool client_can_preempt(const struct client *who, const struct client *whom)
{
	return who->tenant == whom->tenant ||
	       (who->standing.can_preempt & whom->standing.preemptible_by);
}

/* ---- effective values ---- */

static bool ruled(const struct client *client, uint32_t effect)
{
	return client->standing.verdict.effects & effect;
}

int standing_priority(const struct client *client)
{
	const struct standing *standing = &client->standing;

	if (ruled(client, RULE_LEVEL) && standing->verdict.level == PROTOCOL_LEVEL_OBSERVE)
		return PRIORITY_UNSET;
	if (ruled(client, RULE_PRIORITY))
		return standing->verdict.priority;
	return standing->level == PROTOCOL_LEVEL_OBSERVE ? PRIORITY_UNSET
							 : client->control.own_priority;
}

static uint32_t slo_of(const struct client *client)
{
	return ruled(client, RULE_SLO) ? client->standing.verdict.slo_us : client->standing.slo_us;
}

static enum protocol_level level_of(const struct client *client)
{
	const struct standing *standing = &client->standing;
	enum protocol_level level = standing->level;

	if (ruled(client, RULE_LEVEL) && standing->verdict.level != PROTOCOL_LEVEL_OBSERVE)
		level = standing->verdict.level;
	if (standing->level == PROTOCOL_LEVEL_OBSERVE && level != PROTOCOL_LEVEL_WEIGHT)
		return PROTOCOL_LEVEL_GATE;
	return level;
}

/* Evaluates the configuration for a client, with the attributes that were read last. */
static void find_attrs(struct worker *worker, struct client *client)
{
	struct standing *standing = &client->standing;
	uint64_t can_preempt = standing->can_preempt, preemptible_by = standing->preemptible_by;
	const struct subject *subject = &standing->subject;
	const char *group;

	if (!client->outsider) /* the rules for external processes are in external_rules.h */
		rules_match(&worker->config.rules, subject, &standing->verdict);
	authority_match(&worker->config.authority, subject, &standing->can_preempt,
			&standing->preemptible_by);
	group = ruled(client, RULE_GROUP) ? standing->verdict.group : standing->group;
	if (standing->can_preempt == can_preempt && standing->preemptible_by == preemptible_by &&
	    strcmp(client->group, group) == 0)
		return;
	snprintf(client->group, sizeof(client->group), "%s", group);
	client->group_number = group_of(worker, client);
}

/* Stores the attributes. Returns true if they differ from those before. */
static bool take_subject(struct client *client, const struct subject *subject)
{
	struct subject before = client->standing.subject;

	client->standing.subject = *subject;
	client->standing.subject.uid = client->peer.uid;
	client->standing.subject.shim = true;
	return memcmp(&before, &client->standing.subject, sizeof(before)) != 0;
}

void standing_came(struct worker *worker, struct client *client, const struct subject *subject)
{
	client->tenant = tenant_of(worker, client);
	take_subject(client, subject);
	client->standing.differs = worker->is_coming;
	find_attrs(worker, client);
	if (client->outsider)
		return;
	client->priority = standing_priority(client);
	client->slo_us = slo_of(client);
	level_begin(client, level_of(client));
	if (client->standing.verdict.rule[0])
		log_info("process %d (%s): rule %s", (int)client->peer.pid, client->name,
			 client->standing.verdict.rule);
}

void standing_place(struct worker *worker, const struct client *client, uint64_t now)
{
	const struct core_rights rights = {
		.tenant = client->tenant,
		.can_preempt = client->standing.can_preempt,
		.preemptible_by = client->standing.preemptible_by,
	};

	feed_move(&worker->feed, client->id, &rights, client->group_number, now);
	if (client->standing.level == PROTOCOL_LEVEL_OBSERVE)
		feed_set_victim_only(&worker->feed, client->id);
}

void standing_changed(struct worker *worker, struct client *client)
{
	if (!client->control.priority_set)
		client_set_priority(worker, client, standing_priority(client), NULL);
	client->slo_us = slo_of(client);
	feed_set_slo(&worker->feed, client->id, client->slo_us * UINT64_C(1000));
}

static void configured(struct worker *worker, struct client *client, uint64_t now)
{
	struct standing *standing = &client->standing;
	char before[VALUE_NAME];

	memcpy(before, standing->verdict.rule, sizeof(before));
	find_attrs(worker, client);
	if (strcmp(before, standing->verdict.rule) != 0)
		log_info("process %d (%s): %s%s", (int)client->peer.pid, client->name,
			 standing->verdict.rule[0] ? "rule " : "no rule applies any more",
			 standing->verdict.rule);
	standing_place(worker, client, now);
	if (!client->outsider)
		standing_changed(worker, client);
}

/* Returns true if `config` means something else for the client than what is in force for it. */
static bool differs(const struct config *config, const struct client *client)
{
	const struct standing *standing = &client->standing;
	struct verdict verdict = standing->verdict;
	uint64_t can_preempt, preemptible_by;

	if (!client->outsider)
		rules_match(&config->rules, &standing->subject, &verdict);
	authority_match(&config->authority, &standing->subject, &can_preempt, &preemptible_by);
	return can_preempt != standing->can_preempt || preemptible_by != standing->preemptible_by ||
	       memcmp(&verdict, &standing->verdict, sizeof(verdict)) != 0;
}

bool standing_compare(struct worker *worker, uint64_t end_ns)
{
	while (worker->compared < worker->client_end) {
		struct client *client = worker->clients[worker->compared++];

		if (!client || client->phase != CLIENT_SERVED)
			continue;
		client->standing.differs |= differs(&worker->coming, client);
		if (clock_ns() >= end_ns)
			break;
	}
	return worker->compared >= worker->client_end;
}

void standing_configured(struct worker *worker, bool again, uint64_t now)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < worker->client_end; i++) {
		struct client *client = worker->clients[i];

		if (!client || client->phase != CLIENT_SERVED)
			continue;
		if (client->standing.differs)
			configured(worker, client, now);
		client->standing.differs = false;
		if (again)
			client->standing.again_ns = now + count++ * (uint64_t)SPREAD_NS;
	}
}

void standing_overdue(struct worker *worker, struct client *client, uint64_t now)
{
	struct standing *standing = &client->standing;
	struct subject subject;
	int error;

	if (!standing->again_ns || now < standing->again_ns)
		return;
	error = reader_subject(client->peer.pid, &subject);
	if (error == -EINPROGRESS)
		return;
	standing->again_ns = error == -EAGAIN ? now + AGAIN_NS : 0;
	if (error || !take_subject(client, &subject))
		return;
	standing->differs |= worker->is_coming;
	configured(worker, client, now);
	if (client->outsider)
		outsider_rules_again(worker, client);
}
