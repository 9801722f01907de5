// SPDX-License-Identifier: MIT
#include "scheduler/daemon/outsider_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/daemon/client.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/match.h"
#include "scheduler/daemon/outsider.h"
#include "scheduler/daemon/reader.h"
#include "scheduler/daemon/worker.h"
#include "scheduler/kfd/sysfs.h"

#define LOOK_NS 1000000000u
#define PROCESSES 4096u
#define WORK_NS 2000000u /* in one turn of the loop */

/* Can it be followed? If not, it is said once. */
static bool can_be_followed(const struct rule *rule)
{
	const char *why = NULL;

	if (!(rule->conditions & RULE_SHIM) || rule->shim)
		return false;
	if (rule->effects & RULE_LEVEL && rule->level != PROTOCOL_LEVEL_AUTO &&
	    rule->level != PROTOCOL_LEVEL_TRAP && rule->level != PROTOCOL_LEVEL_OBSERVE)
		why = "a process without the shim cannot hold itself back";
	else if (rule->effects & RULE_PRIORITY && rule->priority == PRIORITY_ONLINE)
		why = "a process without the shim holds nobody back, for what it has in flight "
		      "cannot be seen";
	if (why)
		log_info("rule %s: left out, because %s", rule->name, why);
	return !why;
}

static void read_rules(struct worker *worker)
{
	struct outsider_rules *own = &worker->outsider_rules;
	const struct rules *all = &worker->config.rules;

	free(own->rules);
	own->rules = NULL;
	own->looked_ns = 0;
	for (uint32_t i = 0; i < all->count; i++) {
		if (!can_be_followed(&all->rule[i]))
			continue;
		if (!own->rules)
			own->rules = calloc(1, sizeof(*own->rules));
		if (!own->rules) {
			log_info("no memory for the rules about processes without the shim");
			return;
		}
		own->rules->rule[own->rules->count++] = all->rule[i];
	}
}

/* What rules say of it; PRIORITY_UNSET: nothing that tags it; -EAGAIN: that is not known now. */
static int priority_of(const struct worker *worker, pid_t pid, struct verdict *verdict)
{
	struct subject subject;
	int error;

	*verdict = (struct verdict){.priority = PRIORITY_UNSET};
	if (!worker->outsider_rules.rules)
		return PRIORITY_UNSET;
	error = reader_subject(pid, &subject);
	if (error == -EAGAIN)
		return error;
	if (error || !rules_match(worker->outsider_rules.rules, &subject, verdict))
		return PRIORITY_UNSET;
	if (!(verdict->effects & RULE_PRIORITY) ||
	    (verdict->effects & RULE_LEVEL && verdict->level == PROTOCOL_LEVEL_OBSERVE))
		return PRIORITY_UNSET;
	return verdict->priority;
}

static bool is_ordered(const struct worker *worker, pid_t pid, uint64_t started)
{
	const struct kept_process *kept = kept_find(&worker->beat->kept, pid, started);

	return kept && kept->priority != PRIORITY_OWN;
}

static void look_at(struct worker *worker, pid_t pid)
{
	struct verdict verdict;
	char problem[256];
	struct peer_facts its;
	int priority;

	if (pid == getpid() || client_of_pid(worker, pid))
		return;
	if (reader_facts(pid, &its) == -EAGAIN || !its.started ||
	    is_ordered(worker, pid, its.started))
		return;
	priority = priority_of(worker, pid, &verdict);
	if (priority == PRIORITY_UNSET || priority == -EAGAIN)
		return;
	if (outsider_tag_by_rule(worker, pid, its.started, priority, verdict.rule, problem,
				 sizeof(problem)) != 0)
		log_debug("rule %s: not tagged: %s", verdict.rule, problem);
}

/* After a change of the configuration: is it still what rules say? */
static void look_again(struct worker *worker, struct client *client)
{
	pid_t pid = client->peer.pid;
	struct verdict verdict;
	char problem[256];
	int priority;

	if (!outsider_rule(client->outsider)[0])
		return;
	priority = priority_of(worker, pid, &verdict);
	if (priority == PRIORITY_UNSET)
		client_gone(worker, client, "is not tagged any more: no rule says so");
	else if (priority == -EAGAIN)
		worker->outsider_rules.outdated = true;
	else
		outsider_tag_by_rule(worker, pid, client->peer.started, priority, verdict.rule,
				     problem, sizeof(problem));
}

static void look_at_tagged(struct worker *worker)
{
	worker->outsider_rules.outdated = false;
	for (uint32_t i = 0; i < worker->client_end; i++)
		if (worker->clients[i] && worker->clients[i]->phase == CLIENT_SERVED &&
		    worker->clients[i]->outsider)
			look_again(worker, worker->clients[i]);
}

/* Some of the processes: each may take two or three requests to kfdschedd-read. */
static void look_at_some(struct worker *worker)
{
	struct outsider_rules *own = &worker->outsider_rules;
	uint64_t end = clock_ns() + WORK_NS;

	while (own->next < own->count && clock_ns() < end)
		look_at(worker, own->pids[own->next++]);
	if (own->next < own->count)
		return;
	free(own->pids);
	own->pids = NULL;
}

void outsider_rules_look(struct worker *worker, uint64_t now)
{
	struct outsider_rules *own = &worker->outsider_rules;

	if (own->config_number != worker->config_number) {
		own->config_number = worker->config_number;
		read_rules(worker);
		look_at_tagged(worker);
	}
	if (worker->leaving)
		return;
	if (!own->pids && now >= own->looked_ns + LOOK_NS &&
	    (own->rules || own->outdated || own->unrestored)) {
		own->looked_ns = now;
		if (own->unrestored)
			own->unrestored = !outsider_restore(worker);
		if (own->outdated)
			look_at_tagged(worker);
		own->pids = own->rules ? calloc(PROCESSES, sizeof(*own->pids)) : NULL;
		own->count = own->pids ? sysfs_processes(own->pids, PROCESSES) : 0;
		own->next = 0;
	}
	if (own->pids)
		look_at_some(worker);
}
