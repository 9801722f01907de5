// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/external.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "kfd/sysfs.h"
#include "scheduler/daemon/clients/client_attrs.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/operator/events.h"
#include "scheduler/daemon/operator/lease.h"

#define PROGRAM_NS 1000000000u /* time between two reads of the queues if there is no event */
/* after an event, minimum time between two reads, as a process may create many queues */
#define HASTE_NS 20000000u
#define THREADS_NS 100000000u /* time between two checks of the threads of a suspended process */
/* at most 1/20 of the time is spent on checks of threads, which take long with very many threads */
#define THREADS_PART 20u
/* number of checks in a row that must find no DESTROY_QUEUE before such a call counts as
 * finished */
#define QUIET_READS 2

/* State of an external process. */
struct external {
	uint64_t read_ns;    /* last read of its queues */
	uint64_t program_ns; /* time of the last check whether it still runs the same program */
	uint64_t threads_ns; /* time of the next check of its threads */
	uint64_t directory;  /* inode of its directory in sysfs; 0: it had none */
	bool watched;	     /* its session reports new queues */
	unsigned quiet;	     /* checks in a row that have found no thread in DESTROY_QUEUE */
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

/* Checks that the process of `pidfd` can be tagged (get a priority), and fills *out and *subject.
 * The caller owns out->pidfd. Returns 0, or a negative errno with a sentence in `problem`. */
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

/* Creates a client for a process that is not connected, with shared memory that only the daemon
 * has. Takes ownership of peer->pidfd in any case, and of `external` on success. Returns NULL if
 * there is no slot or no memory. */
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
	worker->external_count++;
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

/* Gives the process a priority, as external_tag(), by the rule `rule`; empty: by a request. */
static int tag(struct worker *worker, pid_t pid, int pidfd, int priority, const char *rule,
	       char *problem, size_t size)
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
		return tag(worker, pid, pidfd, priority, "", problem, size);
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

const struct sysfs_queue *external_queues(const struct external *external, uint32_t *count)
{
	*count = external->queue_count;
	return external->queues;
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
	/* The sysfs directory of a process disappears with its last descriptor of the device (after
	 * an exec, or when the process ends), so an error means that it has no queues. */
	external->queue_count = n > 0 ? (uint32_t)n : 0;
	client->pending = has_compute(external, 0) ? REASON_session_tried : REASON_no_queues_yet;
	publish(client, now);
	if (!client->attached && !client->refused)
		client_explain(client);
}

/* Opens a debug session as soon as there are compute queues. */
static void start(struct worker *worker, struct client *client)
{
	struct reason why;
	int shim;

	if (client->executor || client->refused || worker->stopping ||
	    client->priority == PRIORITY_UNSET || !has_compute(client->external, 0))
		return;
	/* If the process has the shim, its agent was loaded after the process had been tagged (had
	 * got a priority), and could not register with the daemon. */
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

/* Removes the saved priority that a request has set: it was meant for the earlier program of the
 * process. A lease (suspension by request) is kept, because it is for the process, whatever its
 * program. */
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

/* Returns true if the process has executed another program (exec). Where addresses are not
 * randomised, the address of the stack need not change with an exec, so the inode of the sysfs
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

/* ---- rules of the configuration ---- */

#define CHECK_NS 1000000000u
#define PROCESSES 4096u
#define WORK_NS 2000000u /* in one loop iteration */

static struct {
	uint32_t config_number; /* number of the configuration that the rules belong to */
	struct rules *rules;	/* rules with `shim = no`; NULL: none */
	uint64_t listed_ns;	/* when the processes were listed last */
	pid_t *pids;		/* processes to check in the next loop iterations; NULL: none */
	size_t count, next;
	int pidfd; /* pidfd of the process that is being checked; -1: none */
	/* a process has not got back the priority that it had in an earlier worker, because it
	 * could not be read yet */
	bool unrestored;
} own = {.pidfd = -1, .unrestored = true};

/* Returns true if the rule has `shim = no` and is possible for processes without the shim. If it is
 * not possible, logs the reason. */
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
	error = tag(worker, pid, pidfd, priority, verdict.rule, problem, sizeof(problem));
	if (error && error != -EINPROGRESS)
		log_debug("rule %s: not tagged: %s", verdict.rule, problem);
	return error;
}

/* Gives a process again the priority that a request to an earlier worker has set. Returns 0 or a
 * negative errno. */
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

/* Gives a process the priority that a saved request or a rule sets for it. Returns -EINPROGRESS if
 * it must be called again for the same process. */
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

	if (!client->external->rule[0])
		return;
	subject.shim = false;
	priority = priority_of(&subject, &verdict);
	if (priority == PRIORITY_UNSET)
		client_gone(worker, client, "is no longer tagged: no rule applies to it any more");
	else
		tag(worker, client->peer.pid, client->peer.pidfd, priority, verdict.rule, problem,
		    sizeof(problem));
}

static void check_tagged(struct worker *worker)
{
	struct client *client;

	for (uint32_t i = 0; (client = worker_next(worker, CLIENT_SERVED, &i));)
		if (client->external)
			external_rules_again(worker, client);
}

/* Checks the next process of own.pids. Returns false if the next call must repeat it. */
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

/* Checks processes of own.pids for WORK_NS. Each needs up to three answers of kfdschedd-read. */
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
