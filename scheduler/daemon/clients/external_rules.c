// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/external_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "kfd/sysfs.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/clients/external.h"
#include "scheduler/daemon/reader/reader.h"

#define CHECK_NS 1000000000u
#define PROCESSES 4096u
#define WORK_NS 2000000u /* in one loop iteration */

static struct {
	uint32_t config_number; /* number of the configuration that the rules belong to */
	struct rules *rules;	/* rules with `shim = no`; NULL: none */
	uint64_t listed_ns;	/* when the processes were listed last */
	pid_t *pids;		/* processes to check in the next loop iterations; NULL: none */
	size_t count, next;
	int pidfd; /* of the process that is being read; -1: none */
	/* a process with a priority from an earlier worker could not be read yet */
	bool unrestored;
} own = {.pidfd = -1, .unrestored = true};

/* Returns true if a rule with `shim = no` can be applied. Otherwise the reason is logged once a
 * configuration. */
static bool can_be_followed(const struct rule *rule)
{
	const char *why = NULL;

	if (!(rule->conditions & RULE_SHIM) || rule->shim)
		return false;
	if (rule->effects & RULE_LEVEL && rule->level != PROTOCOL_LEVEL_AUTO &&
	    rule->level != PROTOCOL_LEVEL_TRAP && rule->level != PROTOCOL_LEVEL_OBSERVE)
		why = "a process without the shim cannot hold itself";
	else if (rule->effects & RULE_PRIORITY && rule->priority == PRIORITY_ONLINE)
		why = "no process is held for one without the shim, whose work in flight cannot "
		      "be observed";
	if (why)
		log_info("rule %s: ignored: %s", rule->name, why);
	return !why;
}

static void read_rules(struct worker *worker)
{
	const struct rules *all = &worker->config.rules;

	free(own.rules);
	own.rules = NULL;
	own.listed_ns = 0;
	for (uint32_t i = 0; i < all->count; i++) {
		if (!can_be_followed(&all->rule[i]))
			continue;
		if (!own.rules)
			own.rules = calloc(1, sizeof(*own.rules));
		if (!own.rules) {
			log_info("out of memory for the rules about processes without the shim");
			return;
		}
		own.rules->rule[own.rules->count++] = all->rule[i];
	}
}

/* Returns the priority that the rules give to a process, or PRIORITY_UNSET. */
static int priority_of(const struct proc_attrs *subject, struct rule_match *verdict)
{
	*verdict = (struct rule_match){.priority = PRIORITY_UNSET};
	if (!own.rules || !rules_match(own.rules, subject, verdict))
		return PRIORITY_UNSET;
	if (!(verdict->effects & RULE_PRIORITY) ||
	    (verdict->effects & RULE_LEVEL && verdict->level == PROTOCOL_LEVEL_OBSERVE))
		return PRIORITY_UNSET;
	return verdict->priority;
}

static int tag_by_rule(struct worker *worker, pid_t pid, int pidfd)
{
	struct rule_match verdict;
	struct proc_attrs subject;
	char problem[256];
	int priority, error;

	if (!own.rules)
		return 0;
	error = reader_subject(pid, &subject);
	priority = error ? PRIORITY_UNSET : priority_of(&subject, &verdict);
	if (priority == PRIORITY_UNSET)
		return error;
	error = external_tag_by_rule(worker, pid, pidfd, priority, verdict.rule, problem,
				     sizeof(problem));
	if (error && error != -EINPROGRESS)
		log_debug("rule %s: not tagged: %s", verdict.rule, problem);
	return error;
}

/* A request in an earlier worker has given the process a priority. */
static int restore_tag(struct worker *worker, const struct saved_process *saved, int pidfd)
{
	char problem[256];
	int error;

	if (saved->priority < 0)
		return 0;
	error = external_tag(worker, saved->pid, pidfd, saved->priority, problem, sizeof(problem));
	if (error && error != -EINPROGRESS)
		log_debug("not tagged again: %s", problem);
	own.unrestored |= error == -EAGAIN;
	return error;
}

/* Compares a process with requests and rules. Returns -EINPROGRESS if it must be called again
 * for the same process. */
static int check_process(struct worker *worker, pid_t pid, int pidfd)
{
	const struct saved_process *saved;
	struct peer_facts its;
	int error;

	/* A process with the shim registers itself. */
	if (pid == getpid() || worker_workload(worker, pid, 0))
		return 0;
	error = reader_facts(pid, &its);
	if (error == -EINPROGRESS)
		return error;
	own.unrestored |= error == -EAGAIN;
	if (!its.started)
		return 0;
	saved = saved_find(&worker->shared->saved, pid, its.started);
	if (saved && saved->priority != PRIORITY_OWN)
		return restore_tag(worker, saved, pidfd);
	return tag_by_rule(worker, pid, pidfd);
}

void external_rules_again(struct worker *worker, struct client *client)
{
	struct proc_attrs subject = client->attrs.subject;
	struct rule_match verdict;
	char problem[256];
	int priority;

	if (!external_rule(client->external)[0])
		return;
	subject.shim = false;
	priority = priority_of(&subject, &verdict);
	if (priority == PRIORITY_UNSET)
		client_gone(worker, client, "is no longer tagged: no rule applies to it any more");
	else
		external_tag_by_rule(worker, client->peer.pid, client->peer.pidfd, priority,
				     verdict.rule, problem, sizeof(problem));
}

static void check_tagged(struct worker *worker)
{
	struct client *client;

	for (uint32_t i = 0; (client = worker_next(worker, CLIENT_SERVED, &i));)
		if (client->external)
			external_rules_again(worker, client);
}

/* Returns false while the answers about this process are awaited. */
static bool look_at_next(struct worker *worker)
{
	pid_t pid = own.pids[own.next];

	if (own.pidfd < 0)
		own.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	reader_begin(READER_RULES);
	if (own.pidfd >= 0)
		check_process(worker, pid, own.pidfd);
	if (reader_end())
		return false;
	if (own.pidfd >= 0)
		close(own.pidfd);
	own.pidfd = -1;
	own.next++;
	return true;
}

/* Checks some of the processes. Each may need two or three requests to kfdschedd-read. */
static void check_some(struct worker *worker)
{
	uint64_t end = clock_ns() + WORK_NS;

	while (own.next < own.count && clock_ns() < end)
		if (!look_at_next(worker))
			return;
	if (own.next < own.count)
		return;
	free(own.pids);
	own.pids = NULL;
}

static void list_processes(struct worker *worker)
{
	const struct saved_state *saved = &worker->shared->saved;

	own.next = own.count = 0;
	own.pids = calloc(PROCESSES + SAVED_PROCESSES, sizeof(*own.pids));
	for (uint32_t i = 0; own.pids && own.unrestored && i < SAVED_PROCESSES; i++)
		if (saved->processes[i].used && saved->processes[i].priority >= 0)
			own.pids[own.count++] = saved->processes[i].pid;
	own.unrestored = false;
	if (own.pids && own.rules)
		own.count += sysfs_processes(own.pids + own.count, PROCESSES);
}

void external_rules_check(struct worker *worker, uint64_t now)
{
	if (own.config_number != worker->config_number) {
		own.config_number = worker->config_number;
		read_rules(worker);
		check_tagged(worker);
	}
	if (worker->stopping)
		return;
	if (!own.pids && now >= own.listed_ns + CHECK_NS && (own.rules || own.unrestored)) {
		own.listed_ns = now;
		list_processes(worker);
	}
	if (own.pids)
		check_some(worker);
}
