// SPDX-License-Identifier: MIT
#include "scheduler/daemon/operator/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/clients/external.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/reader/reader.h"
#include "scheduler/daemon/worker.h"

#define SECOND_NS UINT64_C(1000000000)
/* time in which a suspend request is not answered because it may still take effect */
#define SUSPEND_WAIT_NS (2 * SECOND_NS)

/* ---- replies ---- */

static void send_status(struct client *client, int status, const char *errmsg)
{
	const struct protocol_welcome head = {.magic = PROTOCOL_MAGIC,
					      .version = client->version,
					      .status = status,
					      .bytes = strlen(errmsg)};

	protocol_send_text(client->socket, &head, errmsg);
}

static void send_reply(struct worker *worker, struct client *client, int status, const char *format,
		       ...) __attribute__((format(printf, 4, 5)));

/* Sends the final reply to a request and ends the command. */
static void send_reply(struct worker *worker, struct client *client, int status, const char *format,
		       ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	send_status(client, status, text);
	if (status)
		log_debug("control request of process %d, user %u, refused: %s",
			  (int)client->peer.pid, client->peer.uid, text);
	client_gone(worker, client, NULL);
}

/* ---- sender and target of a request ---- */

bool control_may(const struct worker *worker, const struct socket_peer *peer)
{
	const struct authority *authority = &worker->config.authority;

	if (peer->user_ns != worker->own_user_ns)
		return false;
	return peer->uid == 0 ||
	       (authority->has_admin_group && peer_in_group(peer, authority->admin_group));
}

static struct client *workload(const struct worker *worker, pid_t pid, uint64_t started)
{
	for (uint32_t i = 0; i < worker->client_end; i++) {
		struct client *client = worker->clients[i];

		if (client && client->phase == CLIENT_SERVED && client->peer.pid == pid &&
		    client->peer.started == started)
			return client;
	}
	return NULL;
}

/* The process that a request is about. */
struct control_target {
	pid_t pid;
	uint64_t started;
	char name[16];
	struct client *client; /* NULL: it is not registered */
};

/* Searches for a workload with the number `pid` in the PID namespace of `from`. Needed before
 * Linux 6.12, where the kernel does not translate pids; registered workloads have reported
 * theirs. Returns its pid in the daemon's namespace; 0: not found. */
static pid_t find_registered(const struct worker *worker, const struct socket_peer *from, pid_t pid)
{
	for (uint32_t i = 0; i < worker->client_end; i++) {
		const struct client *client = worker->clients[i];

		if (client && client->phase == CLIENT_SERVED && client->peer.own_pid == pid &&
		    client->peer.pid_ns == from->pid_ns)
			return client->peer.pid;
	}
	return 0;
}

/* Returns the pid, in the daemon's PID namespace, of the process that has the number `pid` in
 * the namespace of `from`; or a negative errno. */
static pid_t translate(const struct worker *worker, const struct socket_peer *from, pid_t pid)
{
	pid_t found;

	if (pid <= 0)
		return -EINVAL;
	if (from->pid_ns == worker->own_pid_ns)
		return pid;
	found = reader_number(from->pid, pid);
	/* The namespace that was read belongs to the peer if the peer still lives. */
	if (found > 0 && peer_ended(from))
		return -ESRCH;
	if (found != -ENOTTY)
		return found;
	found = find_registered(worker, from, pid);
	return found ? found : -ENOTTY;
}

/* Opens a pidfd of the target. The inode of the pidfd shows whether the pid has been reused
 * since the request was sent. */
static int hold_target(struct client *from, const struct protocol_hello *hello, pid_t pid)
{
	struct stat st;

	if (from->control.pidfd < 0)
		from->control.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (from->control.pidfd < 0)
		return -errno;
	return fstat(from->control.pidfd, &st) == 0 && hello->target_inode &&
			       st.st_ino != hello->target_inode
		       ? -ESRCH
		       : 0;
}

/* The pidfd stays open while answers are awaited, so that what is read by pid belongs to its
 * process. */
static int open_target(struct client *from, const struct protocol_hello *hello,
		       struct control_target *out)
{
	struct peer_facts its;
	int error = hold_target(from, hello, out->pid);

	if (error)
		return error;
	error = reader_facts(out->pid, &its);
	if (reader_has_none(error))
		return error;
	out->started = its.started;
	peer_name(out->pid, out->name);
	return 0;
}

/* Finds the target. A request names a process by its number in the sender's PID namespace, so it
 * cannot name a process that the sender does not see. Returns false if the request was answered,
 * or waits for kfdschedd-read. */
static bool find_target(struct worker *worker, struct client *from,
			const struct protocol_hello *hello, struct control_target *out)
{
	pid_t pid = translate(worker, &from->peer, hello->target_pid);
	int error;

	*out = (struct control_target){.pid = pid};
	error = pid > 0 ? open_target(from, hello, out) : (int)pid;
	if (error == -EINPROGRESS)
		return false;
	if (!error) {
		out->client = workload(worker, out->pid, out->started);
		return true;
	}
	if (error == -ENOTTY)
		send_reply(worker, from, error,
			   "before Linux 6.12 a request from within a PID namespace can only name "
			   "registered processes; send it from the host");
	else if (error == -EINVAL)
		send_reply(worker, from, error, "the request names no process: %d",
			   (int)hello->target_pid);
	else if (error == -ESRCH)
		send_reply(worker, from, error, "process %d has ended", (int)hello->target_pid);
	else if (error == -EAGAIN)
		send_reply(worker, from, error,
			   "process %d: its files in /proc cannot be read now (an exec that does "
			   "not complete?); try again in 10 s",
			   (int)hello->target_pid);
	else
		send_reply(worker, from, error, "process %d: cannot be opened: %s",
			   (int)hello->target_pid, strerror(-error));
	return false;
}

static void not_registered(struct worker *worker, struct client *from,
			   const struct control_target *target)
{
	send_reply(worker, from, -ESRCH,
		   "process %d (%s): not registered: it runs without libkfdshim.so ('kfdsched set "
		   "%d offline' registers it), or has not used a GPU yet ('kfdsched status' lists "
		   "registered processes)",
		   (int)target->pid, target->name, (int)target->pid);
}

/* Saves the requests about a client. `priority` is the requested one, or PRIORITY_OWN. Returns
 * false if there is no room. */
static bool keep(struct worker *worker, const struct client *client, int priority,
		 uint64_t lease_ns)
{
	const struct saved_process process = {
		.pid = client->peer.pid,
		.started = client->peer.started,
		.priority = priority,
		.lease_ns = lease_ns,
	};

	return saved_store(&worker->shared->saved, &process);
}

static int priority_override(const struct client *client)
{
	return client->control.priority_set ? client->priority : PRIORITY_OWN;
}

/* Replies that the table is full, unless an awaited answer may free an entry. */
static void no_room(struct worker *worker, struct client *from)
{
	if (reader_waits())
		return;
	send_reply(worker, from, -ENOSPC, "the daemon stores requests for at most %u processes",
		   SAVED_PROCESSES);
}

/* ---- leases ---- */

static bool is_about(const struct client *command, const struct client *client)
{
	return command && command->phase == CLIENT_HOLDING &&
	       command->control.pid == client->peer.pid &&
	       command->control.started == client->peer.started;
}

/* Passes to the core the lease that results from the time and from all connected commands. */
static void lease(struct worker *worker, struct client *client, uint64_t now)
{
	uint64_t until = client->control.lease_ns > now ? client->control.lease_ns : 0;

	for (uint32_t i = 0; i < worker->client_end; i++)
		if (is_about(worker->clients[i], client) && worker->clients[i]->control.holds)
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

bool control_may_be_held(const struct client *client)
{
	return client->control.leased ||
	       (client->priority != PRIORITY_UNSET && client->priority != PRIORITY_ONLINE);
}

/* Returns the reason why the client will never be suspended, or NULL. */
static const char *never(const struct client *client, const struct core_view *view)
{
	if (client->refused || view->exempt != CORE_EXEMPT_NOT)
		return client->reason;
	return view->blocked_by_member ? "another process of its group cannot be suspended" : NULL;
}

static void serve_suspend(struct worker *worker, struct client *from,
			  const struct protocol_hello *hello, const struct control_target *about,
			  uint64_t now)
{
	const struct control_target target = *about;
	struct client *client = target.client;

	if (hello->lease_s > PROTOCOL_LEASE_MAX_S) {
		send_reply(worker, from, -EINVAL, "a lease lasts at most %u s",
			   PROTOCOL_LEASE_MAX_S);
		return;
	}
	if (!client) {
		not_registered(worker, from, &target);
		return;
	}
	if (hello->lease_s) {
		uint64_t until = now + hello->lease_s * SECOND_NS;

		if (!keep(worker, client, priority_override(client), until)) {
			no_room(worker, from);
			return;
		}
		client->control.lease_ns = until;
	}
	log_info("process %d (%s), user %u: suspend process %d (%s)%s", (int)from->peer.pid,
		 from->name, from->peer.uid, (int)target.pid, target.name,
		 hello->lease_s ? " for a time" : "");
	from->phase = CLIENT_HOLDING;
	from->control.pid = target.pid;
	from->control.started = target.started;
	from->control.queried_ns = now;
	from->control.holds = hello->lease_s == 0;
	worker->suspends_pending = true;
	lease(worker, client, now);
}

static void end_lease(struct worker *worker, struct client *client, uint64_t now)
{
	client->control.lease_ns = 0;
	/* cannot fail: an existing entry shrinks */
	keep(worker, client, priority_override(client), 0);
	lease(worker, client, now);
}

/* Replies to a suspend request if its target is suspended now, or if it cannot be. */
static void check_suspend(struct worker *worker, struct client *from, struct client *client,
			  uint64_t now)
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
			end_lease(worker, client, now);
		send_reply(worker, from, -EOPNOTSUPP, "%s", text);
		return;
	}
	if (view.state == CORE_SUSPENDED)
		snprintf(text, sizeof(text), "process %d (%s) is suspended", (int)client->peer.pid,
			 client->name);
	else if (now > from->control.queried_ns + SUSPEND_WAIT_NS)
		snprintf(text, sizeof(text),
			 "process %d (%s) will be suspended as soon as possible%s%s",
			 (int)client->peer.pid, client->name, client->reason[0] ? ": it " : "",
			 client->reason);
	else
		return;
	if (!from->control.holds) {
		send_reply(worker, from, 0, "%s", text);
		return;
	}
	from->control.replied = true;
	send_status(from, 0, text);
}

static void command_overdue(struct worker *worker, struct client *from, uint64_t now)
{
	struct client *client = workload(worker, from->control.pid, from->control.started);

	/* A process is not registered while it changes its program by exec. */
	if (client && !from->control.replied)
		check_suspend(worker, from, client, now);
	else if (!client && poll_now(from->control.pidfd, POLLIN) != 0)
		send_reply(worker, from, -ESRCH, "process %d has ended", (int)from->control.pid);
}

/* Only this loop iteration can have completed a suspend that a request waits for. */
void control_step(struct worker *worker, uint64_t now)
{
	if (!worker->suspends_pending)
		return;
	worker->suspends_pending = false;
	for (uint32_t i = 0; i < worker->client_end; i++) {
		struct client *client = worker->clients[i];

		if (!client || client->phase != CLIENT_HOLDING || client->control.replied)
			continue;
		command_overdue(worker, client, now);
		worker->suspends_pending |=
			client->phase == CLIENT_HOLDING && !client->control.replied;
	}
}

void control_overdue(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->phase == CLIENT_HOLDING)
		command_overdue(worker, client, now);
	else if (client->phase == CLIENT_SERVED && client->control.lease_ns &&
		 now >= client->control.lease_ns)
		end_lease(worker, client, now);
}

static void serve_resume(struct worker *worker, struct client *from,
			 const struct control_target *about, uint64_t now)
{
	const struct control_target target = *about;
	struct client *client = target.client;
	struct core_view view = {0};

	if (!client) {
		not_registered(worker, from, &target);
		return;
	}
	core_view_client(worker->core, client->id, now, &view);
	if (!client->control.leased) {
		send_reply(worker, from, 0, "process %d (%s) was not suspended by a request%s",
			   (int)target.pid, target.name,
			   view.state == CORE_RUNNING ? ""
						      : "; it is suspended for more urgent work: "
							"change its priority with 'kfdsched set'");
		return;
	}
	log_info("process %d (%s), user %u: resume process %d (%s)", (int)from->peer.pid,
		 from->name, from->peer.uid, (int)target.pid, target.name);
	for (uint32_t i = 0; i < worker->client_end; i++)
		if (is_about(worker->clients[i], client))
			send_reply(worker, worker->clients[i], -ECANCELED,
				   "process %d (%s) was resumed by process %d (%s) of user %u",
				   (int)target.pid, target.name, (int)from->peer.pid, from->name,
				   from->peer.uid);
	end_lease(worker, client, now);
	send_reply(worker, from, 0, "process %d (%s): the lease has expired%s", (int)target.pid,
		   target.name,
		   view.contended ? "; the process stays suspended for more urgent work" : "");
}

/* ---- priorities ---- */

/* Sets the priority of a process without the shim. It has no priority of its own, so only the
 * request counts, or the rules. */
static void serve_tag(struct worker *worker, struct client *from,
		      const struct control_target *target, int priority)
{
	const struct saved_process *known =
		saved_find(&worker->shared->saved, target->pid, target->started);
	struct saved_process before = {.pid = target->pid,
				       .started = target->started,
				       .priority = PRIORITY_OWN},
			     after;
	struct client *client;
	char problem[256];
	int error;

	if (known)
		before = *known;
	after = before;
	after.priority = priority;
	if (!saved_store(&worker->shared->saved, &after)) {
		no_room(worker, from);
		return;
	}
	/* PRIORITY_OWN removes the request. The process has no own priority, so the rules apply
	 * again, within a second. */
	if (priority == PRIORITY_OWN && known && !target->client)
		error = 0;
	else
		error = external_tag(worker, target->pid, from->control.pidfd,
				     priority == PRIORITY_OWN ? PRIORITY_UNSET : priority, problem,
				     sizeof(problem));
	if (error) {
		saved_store(&worker->shared->saved, &before);
		if (error == -EINPROGRESS)
			return;
		send_reply(worker, from, error, "%s", problem);
		return;
	}
	client = workload(worker, target->pid, target->started);
	log_info("process %d (%s), user %u: priority %d for process %d (%s), without the shim",
		 (int)from->peer.pid, from->name, from->peer.uid, priority, (int)target->pid,
		 target->name);
	if (!client) {
		send_reply(worker, from, 0,
			   "process %d (%s), without the shim, is not scheduled any more%s",
			   (int)target->pid, target->name,
			   priority == PRIORITY_OWN ? ", unless a rule applies to it" : "");
		return;
	}
	client->control.priority_set = true;
	send_reply(worker, from, 0,
		   "process %d (%s), without the shim, has priority %d until its program ends",
		   (int)target->pid, target->name, priority);
}

static void serve_priority(struct worker *worker, struct client *from,
			   const struct protocol_hello *hello, const struct control_target *about)
{
	const struct control_target target = *about;
	struct client *client = target.client;
	int priority = hello->priority;

	if (priority < PRIORITY_OWN || priority > PRIORITY_ONLINE) {
		send_reply(worker, from, -EINVAL, "a priority must be 0 to 15, none or own");
		return;
	}
	if (!client || client->external) {
		serve_tag(worker, from, &target, priority);
		return;
	}
	if (!keep(worker, client, priority, client->control.lease_ns)) {
		no_room(worker, from);
		return;
	}
	client->control.priority_set = priority != PRIORITY_OWN;
	if (!client->control.priority_set)
		priority = client_attrs_priority(client);
	log_info("process %d (%s), user %u: priority %d for process %d (%s)", (int)from->peer.pid,
		 from->name, from->peer.uid, priority, (int)target.pid, target.name);
	client_set_priority(worker, client, priority, from);
	if (priority == PRIORITY_UNSET)
		send_reply(worker, from, 0, "process %d (%s) has no priority; it is only observed",
			   (int)target.pid, target.name);
	else
		send_reply(worker, from, 0, "process %d (%s) has priority %d%s", (int)target.pid,
			   target.name, priority,
			   client->control.priority_set	   ? " until it ends"
			   : client->attrs.verdict.rule[0] ? ", from its rule or its own settings"
							   : ", from its own settings");
}

/* ---- policies ---- */

static void serve_policy(struct worker *worker, struct client *from,
			 const struct protocol_hello *hello, uint64_t now)
{
	const struct core_policy policy = {.rule = (enum policy)hello->policy,
					   .share_percent = hello->share_percent};
	char where[48] = "all nodes without their own policy", percent[32] = "";

	if (from->peer.pid_ns != worker->own_pid_ns) {
		send_reply(worker, from, -EPERM,
			   "a policy affects all processes on a node: set it from the daemon's own "
			   "pid namespace");
		return;
	}
	if (!policy_is_valid(hello->policy, hello->share_percent)) {
		send_reply(worker, from, -EINVAL, "the policies are %s (1 to 99 percent)",
			   policy_usage());
		return;
	}
	nodes_read(worker, now);
	if (hello->gpu_id && !nodes_known(worker, hello->gpu_id)) {
		send_reply(worker, from, -ENODEV,
			   "there is no node %u: 'kfdsched status' lists the nodes", hello->gpu_id);
		return;
	}
	if (!saved_store_policy(&worker->shared->saved, hello->gpu_id, &policy) ||
	    !feed_set_policy(&worker->feed, hello->gpu_id, &policy)) {
		send_reply(worker, from, -ENOSPC, "at most %u nodes can have their own policy",
			   CORE_POLICIES);
		return;
	}
	if (hello->gpu_id)
		snprintf(where, sizeof(where), "node %u", hello->gpu_id);
	if (policy_takes_share(hello->policy))
		snprintf(percent, sizeof(percent), " share=%u", hello->share_percent);
	log_info("process %d (%s), user %u: policy %s%s on %s", (int)from->peer.pid, from->name,
		 from->peer.uid, policy_name(hello->policy), percent, where);
	events_policy(worker, hello->gpu_id, &policy, from);
	send_reply(worker, from, 0, "policy %s%s on %s until the daemon ends",
		   policy_name(hello->policy), percent, where);
}

void control_policies(struct worker *worker)
{
	const struct saved_state *saved = &worker->shared->saved;

	for (uint32_t i = 0; i < SAVED_POLICIES; i++)
		if (saved->policies[i].used)
			feed_set_policy(&worker->feed, saved->policies[i].gpu_id,
					&saved->policies[i].policy);
}

/* ---- requests ---- */

/* A request about a process. */
static void serve_target(struct worker *worker, struct client *from,
			 const struct protocol_hello *hello, uint64_t now)
{
	struct control_target target;

	if (!find_target(worker, from, hello, &target))
		return;
	if (hello->op == PROTOCOL_SUSPEND)
		serve_suspend(worker, from, hello, &target, now);
	else if (hello->op == PROTOCOL_RESUME)
		serve_resume(worker, from, &target, now);
	else
		serve_priority(worker, from, hello, &target);
}

void control_request(struct worker *worker, struct client *client,
		     const struct protocol_hello *hello, uint64_t now)
{
	int error = peer_identify(client->socket, client->since_ns, reader_facts, &client->peer);

	if (error == -EINPROGRESS)
		return;
	if (error) {
		if (error == -ESRCH)
			send_reply(
				worker, client, error,
				"the requesting process is not in kfdschedd's pid namespace: "
				"send the request from within it (nsenter --pid --mount), or run "
				"kfdschedd on the host");
		else if (error == -EAGAIN)
			send_reply(
				worker, client, error,
				"the files in /proc of a process of this user cannot be read now "
				"(an exec that does not complete?); try again in 10 s");
		else
			send_reply(
				worker, client, -EPERM,
				"kfdschedd cannot read the namespaces of the requesting process: "
				"it needs CAP_SYS_PTRACE (run it as root, and not in a container)");
		return;
	}
	peer_name(client->peer.pid, client->name);
	if (!control_may(worker, &client->peer)) {
		send_reply(worker, client, -EPERM,
			   "user %u is not allowed to send control requests: only root and members "
			   "of the group that admin_group names in the daemon's configuration are",
			   client->peer.uid);
		return;
	}
	if (worker->stopping) {
		send_reply(worker, client, -ESHUTDOWN, "the daemon is shutting down");
		return;
	}
	switch (hello->op) {
	case PROTOCOL_SUSPEND:
	case PROTOCOL_RESUME:
	case PROTOCOL_PRIORITY:
		serve_target(worker, client, hello, now);
		break;
	case PROTOCOL_POLICY:
		serve_policy(worker, client, hello, now);
		break;
	default:
		send_reply(worker, client, -EINVAL, "unknown control request number %u", hello->op);
	}
}

void control_came(struct worker *worker, struct client *client, uint64_t now)
{
	const struct saved_process *saved =
		saved_find(&worker->shared->saved, client->peer.pid, client->peer.started);

	if (saved) {
		client->control.lease_ns = saved->lease_ns;
		client->control.priority_set = saved->priority != PRIORITY_OWN;
		if (client->control.priority_set)
			client_set_priority(worker, client, saved->priority, NULL);
	}
	lease(worker, client, now);
}

void control_gone(struct worker *worker, struct client *client)
{
	struct client *held;

	if (client->control.pidfd >= 0) {
		close(client->control.pidfd);
		client->control.pidfd = -1;
		held = workload(worker, client->control.pid, client->control.started);
		if (held)
			lease(worker, held, clock_ns());
	}
	/* An exec ends the client, but not the process, so its requests are kept. */
	if (client->id && client->peer.pidfd >= 0 && peer_ended(&client->peer))
		saved_forget(&worker->shared->saved, client->peer.pid, client->peer.started);
}
