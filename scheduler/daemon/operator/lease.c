// SPDX-License-Identifier: MIT
#include "scheduler/daemon/operator/lease.h"

#include "common/clock.h"
#include "common/wait.h"
#include "scheduler/daemon/clients/client_attrs.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/operator/events.h"

#define SECOND_NS UINT64_C(1000000000)
/* time for which the reply to a suspend request waits for the suspension */
#define SUSPEND_WAIT_NS (2 * SECOND_NS)

static bool suspends_pending; /* a suspend request has not been answered yet */

/* ---- what requests have set ---- */

static bool used(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
}

static void set_used(uint32_t *word, bool is)
{
	__atomic_store_n(word, is, __ATOMIC_SEQ_CST);
}

struct saved_process *saved_find(struct saved_state *saved, pid_t pid, uint64_t started)
{
	for (uint32_t i = 0; i < SAVED_PROCESSES; i++) {
		struct saved_process *p = &saved->processes[i];

		if (used(&p->used) && p->pid == pid && p->started == started)
			return p;
	}
	return NULL;
}

/* Returns a free entry, or the entry of a process that has ended, or NULL. The process of an entry
 * counts as ended only if another process has its pid now, or if no process has it: then
 * reader_facts() reports another start time, or 0. */
static struct saved_process *saved_room(struct saved_state *saved)
{
	for (uint32_t i = 0; i < SAVED_PROCESSES; i++)
		if (!used(&saved->processes[i].used))
			return &saved->processes[i];
	for (uint32_t i = 0; i < SAVED_PROCESSES; i++) {
		struct saved_process *p = &saved->processes[i];
		struct peer_facts its;

		if (!reader_has_none(reader_facts(p->pid, &its)) && its.started != p->started) {
			set_used(&p->used, false);
			return p;
		}
	}
	return NULL;
}

bool saved_store(struct saved_state *saved, const struct saved_process *process)
{
	struct saved_process *old = saved_find(saved, process->pid, process->started), *p;

	if (process->priority == PRIORITY_OWN && !process->lease_ns) {
		if (old)
			set_used(&old->used, false);
		return true;
	}
	p = old ? old : saved_room(saved);
	if (!p)
		return false;
	p->pid = process->pid;
	p->started = process->started;
	/* Both fields are one word each, so a worker that is killed here leaves no half-written
	 * value. */
	__atomic_store_n(&p->priority, process->priority, __ATOMIC_RELEASE);
	__atomic_store_n(&p->lease_ns, process->lease_ns, __ATOMIC_RELEASE);
	set_used(&p->used, true);
	return true;
}

bool saved_store_policy(struct saved_state *saved, uint32_t gpu_id,
			const struct core_policy *policy)
{
	struct saved_policy *entry = NULL, *before = NULL;

	for (uint32_t i = 0; i < SAVED_POLICIES; i++) {
		struct saved_policy *p = &saved->policies[i];

		if (used(&p->used) && p->gpu_id == gpu_id)
			before = p;
		else if (!used(&p->used))
			entry = p;
	}
	if (!entry)
		entry = before;
	if (!entry)
		return false;
	set_used(&entry->used, false);
	entry->gpu_id = gpu_id;
	entry->policy = *policy;
	set_used(&entry->used, true);
	/* If the worker is killed before the next line, the old and the new policy are both in the
	 * table. If it is killed while it writes the entry, the old policy remains, unless the
	 * table is full and the entry is that of the old policy. */
	if (before && before != entry)
		set_used(&before->used, false);
	return true;
}

bool lease_save(struct worker *worker, struct client *from, const struct saved_process *process)
{
	if (saved_store(&worker->shared->saved, process))
		return true;
	if (!reader_waits())
		client_reply(worker, from, -ENOSPC,
			     "the daemon stores requests for at most %u processes",
			     SAVED_PROCESSES);
	return false;
}

static struct saved_process saved_of(const struct client *client, uint64_t lease_ns)
{
	return (struct saved_process){
		.pid = client->peer.pid,
		.started = client->peer.started,
		.priority = client->control.priority_set ? client->priority : PRIORITY_OWN,
		.lease_ns = lease_ns,
	};
}

bool lease_save_priority(struct worker *worker, struct client *from, const struct client *client,
			 int priority)
{
	struct saved_process process = saved_of(client, client->control.lease_ns);

	process.priority = priority;
	return lease_save(worker, from, &process);
}

/* ---- leases ---- */

static bool is_about(const struct client *command, const struct client *client)
{
	return command->control.pid == client->peer.pid &&
	       command->control.started == client->peer.started;
}

/* Passes the end of a client's lease (a suspension by request) to the core: a time, or CORE_NEVER
 * while a command that holds it is connected. Logs and reports that it begins or ends. */
static void update(struct worker *worker, struct client *client, uint64_t now)
{
	uint64_t until = client->control.lease_ns > now ? client->control.lease_ns : 0;
	const struct client *command;

	for (uint32_t i = 0; (command = worker_next(worker, CLIENT_HOLDING, &i));)
		if (is_about(command, client) && command->control.holds)
			until = CORE_NEVER;
	feed_set_lease(&worker->feed, client->id, until);
	if (client->control.leased == (until != 0))
		return;
	client->control.leased = until != 0;
	log_info("process %d (%s): %s", (int)client->peer.pid, client->name,
		 until ? "leased" : "the lease has expired");
	events_lease(worker, client);
	client_reconsider(worker, client);
}

static void end(struct worker *worker, struct client *client, uint64_t now)
{
	const struct saved_process process = saved_of(client, 0);

	client->control.lease_ns = 0;
	/* cannot fail: the process has an entry, or needs none */
	saved_store(&worker->shared->saved, &process);
	update(worker, client, now);
}

/* ---- suspend ---- */

void lease_suspend(struct worker *worker, struct client *from, struct client *client,
		   uint32_t lease_s, uint64_t now)
{
	if (lease_s) {
		const struct saved_process process = saved_of(client, now + lease_s * SECOND_NS);

		if (!lease_save(worker, from, &process))
			return;
		client->control.lease_ns = process.lease_ns;
	}
	log_info("process %d (%s), user %u: suspend process %d (%s)%s", (int)from->peer.pid,
		 from->name, from->peer.uid, (int)client->peer.pid, client->name,
		 lease_s ? " for a time" : "");
	from->phase = CLIENT_HOLDING;
	from->control.pid = client->peer.pid;
	from->control.started = client->peer.started;
	from->control.queried_ns = now;
	from->control.holds = lease_s == 0;
	suspends_pending = true;
	update(worker, client, now);
}

/* Returns the reason why the client will never be suspended, or NULL. */
static const char *never(const struct client *client, const struct core_view *view)
{
	if (client->refused || view->exempt != CORE_EXEMPT_NOT)
		return client->reason.text;
	return view->blocked_by_member ? "another process of its group cannot be suspended" : NULL;
}

/* Replies to a suspend request if its target is suspended now, or cannot be suspended. */
static void check(struct worker *worker, struct client *from, struct client *client, uint64_t now)
{
	struct core_view view = {0};
	char text[512];
	const char *why;

	core_view_client(worker->core, client->id, now, &view);
	why = never(client, &view);
	if (why) {
		snprintf(text, sizeof(text), "process %d (%s) cannot be suspended: %s",
			 (int)client->peer.pid, client->name, why);
		if (!from->control.holds)
			end(worker, client, now);
		client_reply(worker, from, -EOPNOTSUPP, "%s", text);
		return;
	}
	if (view.state == CORE_SUSPENDED)
		snprintf(text, sizeof(text), "process %d (%s) is suspended", (int)client->peer.pid,
			 client->name);
	else if (now > from->control.queried_ns + SUSPEND_WAIT_NS)
		snprintf(text, sizeof(text),
			 "process %d (%s) will be suspended as soon as possible%s%s",
			 (int)client->peer.pid, client->name, client->reason.text[0] ? ": it " : "",
			 client->reason.text);
	else
		return;
	if (!from->control.holds) {
		client_reply(worker, from, 0, "%s", text);
		return;
	}
	from->control.replied = true;
	client_send_status(from, 0, text);
}

static void command_overdue(struct worker *worker, struct client *from, uint64_t now)
{
	struct client *client = worker_workload(worker, from->control.pid, from->control.started);

	/* Without a client, the process has ended, or it is not registered because it is changing
	 * its program by exec. */
	if (client && !from->control.replied)
		check(worker, from, client, now);
	else if (!client && poll_now(from->control.pidfd, POLLIN) != 0)
		client_reply(worker, from, -ESRCH, "process %d has ended", (int)from->control.pid);
}

/* Checks the suspend requests that are not answered yet, because a suspend may have been completed
 * in this loop iteration. lease_overdue() does the other checks. */
void lease_step(struct worker *worker, uint64_t now)
{
	struct client *from;

	if (!suspends_pending)
		return;
	suspends_pending = false;
	for (uint32_t i = 0; (from = worker_next(worker, CLIENT_HOLDING, &i));) {
		if (from->control.replied)
			continue;
		command_overdue(worker, from, now);
		suspends_pending |= from->phase == CLIENT_HOLDING && !from->control.replied;
	}
}

void lease_overdue(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->phase == CLIENT_HOLDING)
		command_overdue(worker, client, now);
	else if (client->phase == CLIENT_SERVED && client->control.lease_ns &&
		 now >= client->control.lease_ns)
		end(worker, client, now);
}

/* ---- resume ---- */

void lease_resume(struct worker *worker, struct client *from, struct client *client, uint64_t now)
{
	struct core_view view = {0};
	struct client *command;

	core_view_client(worker->core, client->id, now, &view);
	if (!client->control.leased) {
		client_reply(worker, from, 0, "process %d (%s) was not suspended by a request%s",
			     (int)client->peer.pid, client->name,
			     view.state == CORE_RUNNING
				     ? ""
				     : "; it is suspended for more urgent work: "
				       "change its priority with 'kfdsched set'");
		return;
	}
	log_info("process %d (%s), user %u: resume process %d (%s)", (int)from->peer.pid,
		 from->name, from->peer.uid, (int)client->peer.pid, client->name);
	for (uint32_t i = 0; (command = worker_next(worker, CLIENT_HOLDING, &i));)
		if (is_about(command, client))
			client_reply(worker, command, -ECANCELED,
				     "process %d (%s) was resumed by process %d (%s) of user %u",
				     (int)client->peer.pid, client->name, (int)from->peer.pid,
				     from->name, from->peer.uid);
	end(worker, client, now);
	client_reply(worker, from, 0, "process %d (%s): the lease has expired%s",
		     (int)client->peer.pid, client->name,
		     view.contended ? "; the process stays suspended for more urgent work" : "");
}

/* ---- begin and end of a client ---- */

void lease_restore(struct worker *worker, struct client *client, uint64_t now)
{
	const struct saved_process *saved =
		saved_find(&worker->shared->saved, client->peer.pid, client->peer.started);

	if (saved) {
		client->control.lease_ns = saved->lease_ns;
		client->control.priority_set = saved->priority != PRIORITY_OWN;
		if (client->control.priority_set)
			client_set_priority(worker, client, saved->priority, NULL);
	}
	update(worker, client, now);
}

void lease_gone(struct worker *worker, struct client *client)
{
	struct saved_process *saved;
	struct client *held;

	if (client->control.pidfd >= 0) {
		close(client->control.pidfd);
		client->control.pidfd = -1;
		held = worker_workload(worker, client->control.pid, client->control.started);
		if (held)
			update(worker, held, clock_ns());
	}
	/* An exec ends the client, not the process, so what requests have set is kept. */
	if (!client->id || client->peer.pidfd < 0 || !peer_ended(&client->peer))
		return;
	saved = saved_find(&worker->shared->saved, client->peer.pid, client->peer.started);
	if (saved)
		set_used(&saved->used, false);
}
