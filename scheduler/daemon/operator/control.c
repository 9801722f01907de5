// SPDX-License-Identifier: MIT
#include "scheduler/daemon/operator/lease.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scheduler/daemon/clients/client_attrs.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/clients/external.h"
#include "scheduler/daemon/operator/events.h"
#include "scheduler/daemon/reader/reader.h"

/* ---- sender and target of a request ---- */

/* Returns true if the peer is allowed to send control requests: root, and members of admin_group
 * of the configuration. A process of another user namespace than the daemon's is never allowed,
 * because any user can be root there. */
static bool may_request(const struct worker *worker, const struct socket_peer *peer)
{
	const struct authority *authority = &worker->config.authority;

	if (peer->user_ns != worker->own_user_ns)
		return false;
	return peer->uid == 0 ||
	       (authority->has_admin_group && peer_in_group(peer, authority->admin_group));
}

/* The process that a request is about. */
struct control_target {
	pid_t pid;
	uint64_t started;
	char name[16];
	struct client *client; /* NULL: it is not registered */
};

/* Searches for a workload with the number `pid` in the PID namespace of `from`; the daemon knows
 * the own pid of each registered workload. Needed before Linux 6.12, where the kernel does not
 * translate pids. Returns the pid in the daemon's namespace; 0: not found. */
static pid_t find_registered(const struct worker *worker, const struct socket_peer *from, pid_t pid)
{
	const struct client *client;

	for (uint32_t i = 0; (client = worker_next(worker, CLIENT_SERVED, &i));)
		if (client->peer.own_pid == pid && client->peer.pid_ns == from->pid_ns)
			return client->peer.pid;
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
	/* If the peer still lives, its pid was not reused, so the namespace that was read is its
	 * own. */
	if (found > 0 && peer_ended(from))
		return -ESRCH;
	if (found != -ENOTTY)
		return found;
	found = find_registered(worker, from, pid);
	return found ? found : -ENOTTY;
}

/* Opens a pidfd of the target. Returns 0; -ESRCH if the pid has been reused since the request was
 * sent, which the inode of the pidfd shows; or another negative errno. */
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

/* Opens a pidfd of the target and reads its start time and name. The pidfd stays open while answers
 * of kfdschedd-read are awaited, so that the pid cannot be reused unnoticed. Returns 0 or a
 * negative errno. */
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
		if (out->started)
			out->client = worker_workload(worker, out->pid, out->started);
		return true;
	}
	if (error == -ENOTTY)
		client_reply(
			worker, from, error,
			"before Linux 6.12 a request from within a PID namespace can only name "
			"registered processes; send it from the host");
	else if (error == -EINVAL)
		client_reply(worker, from, error, "the request names no process: %d",
			     (int)hello->target_pid);
	else if (error == -ESRCH)
		client_reply(worker, from, error, "process %d has ended", (int)hello->target_pid);
	else if (error == -EAGAIN)
		client_reply(worker, from, error,
			     "process %d: its files in /proc cannot be read now (an exec that does "
			     "not complete?); try again in 10 s",
			     (int)hello->target_pid);
	else
		client_reply(worker, from, error, "process %d: cannot be opened: %s",
			     (int)hello->target_pid, strerror(-error));
	return false;
}

static void not_registered(struct worker *worker, struct client *from,
			   const struct control_target *target)
{
	client_reply(
		worker, from, -ESRCH,
		"process %d (%s): not registered: it runs without libkfdshim.so ('kfdsched set "
		"%d offline' registers it), or has not used a GPU yet ('kfdsched status' lists "
		"registered processes)",
		(int)target->pid, target->name, (int)target->pid);
}

/* ---- priorities ---- */

/* Sets the priority of a process without the shim. Such a process has no priority of its own: only
 * requests and rules give it one. */
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
	if (!lease_save(worker, from, &after))
		return;
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
		client_reply(worker, from, error, "%s", problem);
		return;
	}
	client = worker_workload(worker, target->pid, target->started);
	log_info("process %d (%s), user %u: priority %d for process %d (%s), without the shim",
		 (int)from->peer.pid, from->name, from->peer.uid, priority, (int)target->pid,
		 target->name);
	if (!client) {
		client_reply(worker, from, 0,
			     "process %d (%s), without the shim, is not scheduled any more%s",
			     (int)target->pid, target->name,
			     priority == PRIORITY_OWN ? ", unless a rule applies to it" : "");
		return;
	}
	client->control.priority_set = true;
	client_reply(worker, from, 0,
		     "process %d (%s), without the shim, has priority %d until its program ends",
		     (int)target->pid, target->name, priority);
}

static void serve_priority(struct worker *worker, struct client *from,
			   const struct control_target *target, int priority)
{
	struct client *client = target->client;

	if (priority < PRIORITY_OWN || priority > PRIORITY_ONLINE) {
		client_reply(worker, from, -EINVAL, "a priority must be 0 to 15, none or own");
		return;
	}
	if (!client || client->external) {
		serve_tag(worker, from, target, priority);
		return;
	}
	if (!lease_save_priority(worker, from, client, priority))
		return;
	client->control.priority_set = priority != PRIORITY_OWN;
	if (!client->control.priority_set)
		priority = client_attrs_priority(client);
	log_info("process %d (%s), user %u: priority %d for process %d (%s)", (int)from->peer.pid,
		 from->name, from->peer.uid, priority, (int)target->pid, target->name);
	client_set_priority(worker, client, priority, from);
	if (priority == PRIORITY_UNSET)
		client_reply(worker, from, 0,
			     "process %d (%s) has no priority; it is only observed",
			     (int)target->pid, target->name);
	else
		client_reply(worker, from, 0, "process %d (%s) has priority %d%s", (int)target->pid,
			     target->name, priority,
			     client->control.priority_set    ? " until it ends"
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
		client_reply(
			worker, from, -EPERM,
			"a policy affects all processes on a node: set it from the daemon's own "
			"pid namespace");
		return;
	}
	if (!policy_is_valid(hello->policy, hello->share_percent)) {
		client_reply(worker, from, -EINVAL, "the policies are %s (1 to 99 percent)",
			     policy_usage());
		return;
	}
	nodes_read(&worker->nodes, now);
	if (hello->gpu_id && !nodes_known(&worker->nodes, hello->gpu_id)) {
		client_reply(worker, from, -ENODEV,
			     "there is no node %u: 'kfdsched status' lists the nodes",
			     hello->gpu_id);
		return;
	}
	if (!saved_store_policy(&worker->shared->saved, hello->gpu_id, &policy) ||
	    !feed_set_policy(&worker->feed, hello->gpu_id, &policy)) {
		client_reply(worker, from, -ENOSPC, "at most %u nodes can have their own policy",
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
	client_reply(worker, from, 0, "policy %s%s on %s until the daemon ends",
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

/* Handles a request about a process. */
static void serve_target(struct worker *worker, struct client *from,
			 const struct protocol_hello *hello, uint64_t now)
{
	struct control_target target;

	if (!find_target(worker, from, hello, &target))
		return;
	if (hello->op == PROTOCOL_PRIORITY)
		serve_priority(worker, from, &target, hello->priority);
	else if (hello->op == PROTOCOL_SUSPEND && hello->lease_s > PROTOCOL_LEASE_MAX_S)
		client_reply(worker, from, -EINVAL, "a lease lasts at most %u s",
			     PROTOCOL_LEASE_MAX_S);
	else if (!target.client)
		not_registered(worker, from, &target);
	else if (hello->op == PROTOCOL_RESUME)
		lease_resume(worker, from, target.client, now);
	else
		lease_suspend(worker, from, target.client, hello->lease_s, now);
}

void control_request(struct worker *worker, struct client *client,
		     const struct protocol_hello *hello, uint64_t now)
{
	int error = peer_identify(client->socket, client->since_ns, reader_facts, &client->peer);

	if (error == -EINPROGRESS)
		return;
	if (error) {
		if (error == -ESRCH)
			client_reply(
				worker, client, error,
				"the requesting process is not in kfdschedd's pid namespace: "
				"send the request from within it (nsenter --pid --mount), or run "
				"kfdschedd on the host");
		else if (error == -EAGAIN)
			client_reply(
				worker, client, error,
				"the files in /proc of a process of this user cannot be read now "
				"(an exec that does not complete?); try again in 10 s");
		else
			client_reply(
				worker, client, -EPERM,
				"kfdschedd cannot read the namespaces of the requesting process: "
				"it needs CAP_SYS_PTRACE (run it as root, and not in a container)");
		return;
	}
	peer_name(client->peer.pid, client->name);
	if (!may_request(worker, &client->peer)) {
		client_reply(
			worker, client, -EPERM,
			"user %u is not allowed to send control requests: only root and members "
			"of the group that admin_group names in the daemon's configuration are",
			client->peer.uid);
		return;
	}
	if (worker->stopping) {
		client_reply(worker, client, -ESHUTDOWN, "the daemon is shutting down");
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
		client_reply(worker, client, -EINVAL, "unknown control request number %u",
			     hello->op);
	}
}
