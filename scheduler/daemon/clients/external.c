// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/external.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "kfd/sysfs.h"
#include "scheduler/daemon/clients/client_actions.h"
#include "scheduler/daemon/clients/client_attrs.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/operator/events.h"
#include "scheduler/daemon/operator/lease.h"
#include "scheduler/daemon/reader/reader.h"

#define PROGRAM_NS 1000000000u /* between two reads of its queues without an event */
/* between two reads of its queues after an event; it may create queues without end */
#define HASTE_NS 20000000u
#define THREADS_NS 100000000u /* between two checks of its threads, while it is suspended */
/* at most this fraction of the time is spent on that check, which takes long with very many
 * threads */
#define THREADS_PART 20u
/* checks in a row without a DESTROY_QUEUE, after which it counts as finished */
#define QUIET_READS 2

/* State of an external process. */
struct external {
	uint64_t read_ns;    /* last read of its queues */
	uint64_t program_ns; /* last check that it still runs the same program */
	uint64_t threads_ns; /* time of the next check of its threads */
	uint64_t directory;  /* number of its directory in sysfs; 0: it had none */
	bool watched;	     /* its session reports new queues */
	unsigned quiet;	     /* checks since a thread was seen in DESTROY_QUEUE */
	char rule[VALUE_NAME];
	uint32_t queue_count;
	struct sysfs_queue queues[SYSFS_QUEUES];
};

static void store(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static bool has_compute(const struct external *external, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < external->queue_count; i++)
		if (sysfs_is_compute(&external->queues[i]) &&
		    (!gpu_id || external->queues[i].gpu_id == gpu_id))
			return true;
	return false;
}

/* ---- priorities ---- */

static void tag_again(struct worker *worker, struct client *client, int priority)
{
	/* the value that a shim would write */
	store((uint32_t *)&client->shm->priority, (uint32_t)priority);
	client->control.own_priority = priority;
	if (!client->executor)
		client->refused = false;
	client_set_priority(worker, client, priority, NULL);
	client->queues_changed = true;
	client_reconsider(worker, client);
}

/* Checks that the process of `pidfd` can be tagged, and fills *out and *subject. The caller owns
 * out->pidfd. */
static int hold(pid_t pid, int pidfd, struct socket_peer *out, struct proc_attrs *subject,
		char *problem, size_t size)
{
	struct peer_facts found;
	int error = reader_target(pid, &found, problem, size);

	if (error)
		return error;
	error = reader_subject(pid, subject);
	if (!error)
		error = peer_of(pid, pidfd, &found, out);
	if (error == -EAGAIN)
		snprintf(problem, size,
			 "process %d: its files in /proc cannot be read now; try again in 10 s",
			 (int)pid);
	else if (error)
		snprintf(problem, size, "process %d has just ended", (int)pid);
	return error;
}

/* Creates a client for a process that is not connected, with shared memory that only the daemon has.
 * Takes ownership of peer->pidfd in any case, and of `external` on success. Returns NULL if there is
 * no slot or no memory. */
static struct client *adopt(struct worker *worker, const struct socket_peer *peer,
			    const struct proc_attrs *subject, int priority,
			    struct external *external, uint64_t now)
{
	struct client *client = client_new(worker, -1, now);
	int shm_fd;

	if (!client) {
		close(peer->pidfd);
		return NULL;
	}
	client->peer = *peer;
	client->priority = client->control.own_priority = priority;
	client->external = external;
	client->queues_changed = true;
	client->pending = REASON_no_queues_yet;
	peer_name(peer->pid, client->name);
	client_attrs_init(worker, client, subject);
	shm_fd = client_shm_create(CLIENT_SHM_VERSION, &client->shm);
	if (shm_fd >= 0) {
		close(shm_fd);
		client->shm->priority = priority;
		client->id = feed_add(&worker->feed, client->tenant, client->group_number, priority,
				      now);
		client_attrs_slot(worker, client, now);
	}
	if (!client->id || worker_watch(worker, peer->pidfd, EPOLLIN, WORKER_PIDFD, client)) {
		client->external = NULL; /* on failure the caller keeps it */
		client_gone(worker, client, NULL);
		return NULL;
	}
	client_served(worker, client);
	return client;
}

static int tag_new(struct worker *worker, pid_t pid, int pidfd, int priority, const char *rule,
		   char *problem, size_t size)
{
	uint64_t directory = sysfs_dir(pid);
	struct external *external;
	struct client *client;
	struct proc_attrs subject;
	struct socket_peer peer;
	int error = hold(pid, pidfd, &peer, &subject, problem, size);

	if (error)
		return error;
	external = calloc(1, sizeof(*external));
	client = external ? adopt(worker, &peer, &subject, priority, external, clock_ns()) : NULL;
	if (!client) {
		if (!external)
			close(peer.pidfd);
		free(external);
		snprintf(problem, size, "process %d: too many clients, or out of memory", (int)pid);
		return -ENOMEM;
	}
	feed_set_victim_only(&worker->feed, client->id);
	external->directory = directory;
	snprintf(external->rule, sizeof(external->rule), "%s", rule);
	client_explain(client);
	log_info("process %d (%s), without the shim: tagged%s%s with priority %d, user %u",
		 (int)pid, client->name, rule[0] ? " by rule " : "", rule, priority, peer.uid);
	events_came(worker, client);
	lease_restore(worker, client, clock_ns());
	return 0;
}

static int check_priority(pid_t pid, int priority, char *problem, size_t size)
{
	if (priority >= 0 && priority < PRIORITY_ONLINE)
		return 0;
	snprintf(problem, size,
		 "priority %d is not possible for process %d, which runs without the shim: its "
		 "work in flight cannot be observed, so no other process is held for it; use 0 "
		 "(suspended first) to %d",
		 priority, (int)pid, PRIORITY_ONLINE - 1);
	return -EINVAL;
}

int external_tag_by_rule(struct worker *worker, pid_t pid, int pidfd, int priority,
			 const char *rule, char *problem, size_t size)
{
	struct client *client = worker_workload(worker, pid, 0);
	int error;

	if (client && !client->external) {
		snprintf(problem, size, "process %d runs with the shim and sets its own priority",
			 (int)pid);
		return -EEXIST;
	}
	error = check_priority(pid, priority, problem, size);
	if (error)
		return error;
	if (!client)
		return tag_new(worker, pid, pidfd, priority, rule, problem, size);
	snprintf(client->external->rule, sizeof(client->external->rule), "%s", rule);
	tag_again(worker, client, priority);
	return 0;
}

int external_tag(struct worker *worker, pid_t pid, int pidfd, int priority, char *problem,
		 size_t size)
{
	struct client *client = worker_workload(worker, pid, 0);

	if (priority != PRIORITY_UNSET || (client && !client->external))
		return external_tag_by_rule(worker, pid, pidfd, priority, "", problem, size);
	if (client) {
		client_gone(worker, client, "is no longer tagged");
		return 0;
	}
	snprintf(problem, size, "process %d is not tagged", (int)pid);
	return -ESRCH;
}

const char *external_rule(const struct external *external)
{
	return external->rule;
}

/* ---- checks of a process ---- */

/* Writes the nodes and their activity into the shared memory, as a shim would. */
static void publish(struct client *client, uint64_t now)
{
	struct external *external = client->external;
	struct client_shm *shm = client->shm;

	for (uint32_t i = 0; i < external->queue_count; i++)
		if (sysfs_is_compute(&external->queues[i]))
			client_shm_node_slot(shm, external->queues[i].gpu_id);
	for (uint32_t i = 0; client_shm_node_id(shm, i); i++)
		client_shm_node_set(shm, i, has_compute(external, client_shm_node_id(shm, i)), now);
}

static void read_queues(struct client *client, uint64_t now)
{
	struct external *external = client->external;
	int n = sysfs_queues(client->peer.pid, external->queues, SYSFS_QUEUES);

	external->read_ns = now;
	client->queues_changed = false;
	/* The directory disappears with the last descriptor of the device: after an exec, or
	 * when the process ends. */
	external->queue_count = n > 0 ? (uint32_t)n : 0;
	client->pending = has_compute(external, 0) ? REASON_session_tried : REASON_no_queues_yet;
	publish(client, now);
	if (!client->attached && !client->refused)
		client_explain(client);
}

/* Opens a session as soon as there are compute queues. */
static void start(struct worker *worker, struct client *client)
{
	struct reason why;
	int shim;

	if (client->executor || client->refused || worker->stopping ||
	    client->priority == PRIORITY_UNSET || !has_compute(client->external, 0))
		return;
	/* The shim's agent was loaded after the process had been tagged, and could not register
	 * here. */
	shim = reader_has_shim(client->peer.pid);
	if (reader_has_none(shim))
		return;
	if (shim > 0) {
		reason_set(&why, REASON_shim_not_registered, 0, 0, NULL);
		client_cannot(worker, client, &why);
	} else {
		client_attach(worker, client, true);
	}
}

/* Checks the threads of a suspended process for a DESTROY_QUEUE that sleeps until the queue is
 * resumed. The shim announces such calls in advance. A process without the shim cannot, so its
 * call is delayed by at most one checking interval (THREADS_NS) plus one resume. */
static void check_threads(struct worker *worker, struct client *client, uint64_t now)
{
	struct external *external = client->external;
	struct client_shm *shm = client->shm;
	struct core_view view;
	uint64_t took_ns;
	int destroys;

	if (now < external->threads_ns)
		return;
	if (shm->teardown_begin == shm->teardown_end &&
	    (!core_view_client(worker->core, client->id, now, &view) || view.state == CORE_RUNNING))
		return;
	destroys = reader_destroys(client->peer.pid, &took_ns);
	if (destroys == -EINPROGRESS)
		return;
	took_ns *= THREADS_PART;
	external->threads_ns = now + (took_ns > THREADS_NS ? took_ns : THREADS_NS);
	if (destroys > 0) {
		external->quiet = 0;
		client->queues_changed = true;
		if (shm->teardown_begin == shm->teardown_end)
			store(&shm->teardown_begin, shm->teardown_begin + 1);
	} else if (shm->teardown_begin != shm->teardown_end && ++external->quiet >= QUIET_READS) {
		store(&shm->teardown_end, shm->teardown_begin);
	}
}

/* A requested priority belongs to the program that was running; a lease belongs to the process,
 * so it is kept. */
static void forget_request(struct worker *worker, const struct socket_peer *peer)
{
	const struct saved_process *known =
		saved_find(&worker->shared->saved, peer->pid, peer->started);
	struct saved_process rest;

	if (!known)
		return;
	rest = *known;
	rest.priority = PRIORITY_OWN;
	saved_store(&worker->shared->saved, &rest);
}

/* Returns true if the process runs another program since an exec. Where addresses are not
 * randomised, the address of the stack need not change with an exec, so the number of the sysfs
 * directory is compared, too. */
static bool is_another_program(const struct client *client, uint64_t now)
{
	struct external *external = client->external;
	uint64_t directory = sysfs_dir(client->peer.pid), before = external->directory;
	int replaced = peer_replaced(&client->peer, reader_facts);

	if (directory)
		external->directory = directory;
	if (replaced != -EINPROGRESS)
		external->program_ns = now;
	return (before && directory && directory != before) || replaced > 0;
}

void external_overdue(struct worker *worker, struct client *client, uint64_t now)
{
	struct external *external = client->external;

	if ((client->lost_ns || now >= external->program_ns + PROGRAM_NS) &&
	    is_another_program(client, now)) {
		forget_request(worker, &client->peer);
		client_gone(worker, client, "runs another program now; its tag is removed");
		return;
	}
	if (now >= external->read_ns + (client->queues_changed ? HASTE_NS : PROGRAM_NS))
		read_queues(client, now);
	start(worker, client);
	if (client->attached && !external->watched) {
		executor_send(client->executor, EXECUTOR_WATCH);
		client_session_changed(client);
	}
	external->watched = client->attached;
	if (client->attached)
		check_threads(worker, client, now);
}

/* ---- output ---- */

void external_queues_json(const struct external *external, json_t *list)
{
	for (uint32_t i = 0; i < external->queue_count; i++) {
		const struct sysfs_queue *q = &external->queues[i];

		json_array_append_new(
			list,
			json_pack("{sI sI ss ss? sn sI sn sn sn sn sn}", "id", (json_int_t)q->id,
				  "gpu_id", (json_int_t)q->gpu_id, "type", sysfs_type_name(q),
				  "not_suspendable",
				  sysfs_is_compute(q) ? NULL : "only compute queues are suspended",
				  "ring_address", "ring_bytes", (json_int_t)q->ring_bytes,
				  "rptr_address", "wptr_address", "hsa_queue", "priority",
				  "active"));
	}
}
