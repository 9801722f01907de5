// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "scheduler/daemon/clients/client_attrs.h"
#include "scheduler/daemon/clients/client_life.h"
#include "scheduler/daemon/clients/client_scan.h"
#include "scheduler/daemon/clients/external.h"
#include "scheduler/daemon/memory.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/operator/events.h"
#include "scheduler/daemon/operator/lease.h"
#include "scheduler/daemon/operator/query.h"
#include "scheduler/daemon/privileges.h"
#include "scheduler/daemon/reader/reader.h"
#include "scheduler/daemon/recording/record.h"
#include "scheduler/daemon/worker.h"

/* Maximum sleep of the loop; struct daemon_shm guarantees a heartbeat within 100 ms. */
#define HEARTBEAT_NS 40000000u
#define EVENTS 64
#define ROUNDS 8 /* maximum number of decisions in act() before events are handled again */
/* with up to so many clients, scan_few() scans all of them */
#define FEW 32u
#define SWEEP_NS 20000000u
#define SWEEP_CLIENTS 256u /* clients in one sweep */
#define KEEP_NS 1000000000u
#define COMPARE_NS 200000u /* time in each loop iteration for compare_config() */
#define AT_ONCE 8	   /* connections admitted in one loop iteration: each costs 0.1 ms */
/* clients that find_causes() compares, at most */
#define CAUSE_SEARCHES 1024u

/* Rate limit of loop iterations. If events come at a higher rate, one iteration handles several of
 * them, and an event waits at most 100 us for it. */
static const struct ratelimit_rule iterations = {.burst = 100, .period_ns = 100000u};
static const struct ratelimit_rule causes = {.burst = 64, .period_ns = 1000000u};

static struct worker the_worker; /* static because it is large */
/* State of the loop itself. */
static struct {
	const struct reload *reload;
	int channel; /* connections from kfdschedd-door */
	int reader;  /* connection to kfdschedd-read */
	int done_fd; /* eventfd that executors write */
	int signals; /* the signalfd */
	/* `asleep` was 0 since the last scan_few(), so scan_few() must be called before the loop
	 * sleeps */
	bool published_awake;
	uint64_t swept_ns, totals_saved_ns;	    /* last sweep; last copy of the totals */
	uint32_t sweep_at;			    /* first slot of the next sweep */
	uint64_t deadline_ns;			    /* next deadline of the core */
	struct ratelimit causes;		    /* searches for the cause of an action */
	struct core_action actions[WORKER_CLIENTS]; /* actions of the last decision */
} own;

/* Scans the shared memory of all clients before going to sleep. Does so only with up to FEW
 * clients. With more, `asleep` is always set, so each client writes its eventfd after a change, and
 * only clients that have written it are scanned. Returns true if something had changed. */
static bool scan_few(struct worker *worker, uint64_t now)
{
	struct client *client;
	bool changed = false;

	if (!own.published_awake)
		return false;
	own.published_awake = false;
	for (uint32_t i = 0; (client = worker_next(worker, CLIENT_SERVED, &i));)
		changed |= scan_unwoken(worker, client, now);
	return changed;
}

static void awake(struct worker *worker)
{
	if (worker->client_end > FEW)
		return;
	nodes_set_asleep(&worker->nodes, false);
	/* clients that read `asleep` as 0 do not write their eventfd; scan_few() finds their
	 * changes */
	own.published_awake = true;
}

/* Determines which client's activity has caused each of the `n` actions. Only prompt actions
 * (core_action.prompt) have such a cause. Only statistics need it, so it is determined after all
 * actions were started, and with many clients for some of the actions only. */
static void find_causes(struct worker *worker, size_t n)
{
	uint32_t scans = 0;

	for (size_t i = 0; i < n; i++) {
		if (!own.actions[i].prompt)
			continue;
		scans += worker->client_end;
		if (scans > CAUSE_SEARCHES && scans > worker->client_end)
			return;
		if (!ratelimit_take(&own.causes, &causes, worker->now_ns))
			return;
		client_find_cause(worker, worker->by_core[core_index(own.actions[i].client)]);
	}
}

/* Calls the core to decide which clients to suspend or resume, and starts these actions. Decides
 * again if a client has cancelled its action, ROUNDS times at most. */
static void act(struct worker *worker)
{
	bool again = true;

	for (int round = 0; again && round < ROUNDS; round++) {
		uint64_t now = clock_ns();
		size_t n = feed_decide(&worker->feed, now, own.actions, WORKER_CLIENTS,
				       &own.deadline_ns);

		again = false;
		for (size_t i = 0; i < n; i++) {
			struct core_action *action = &own.actions[i];
			struct client *client = worker->by_core[core_index(action->client)];

			again |= !client_act(worker, client, action, now);
		}
		find_causes(worker, n);
		for (size_t i = 0; i < n; i++)
			events_decided(worker, worker->by_core[core_index(own.actions[i].client)],
				       now);
	}
	if (again)
		own.deadline_ns = 0;
}

static void decide(struct worker *worker)
{
	act(worker);
	client_release_all(worker, clock_ns());
	nodes_publish(&worker->nodes, worker->core);
}

/* Handles the outcomes (enum executor_outcome) of one executor. Callback of executor_collect(). */
static void executor_reported(uint32_t number, void *context)
{
	struct worker *worker = context;

	if (worker->by_executor[number])
		client_outcome(worker, worker->by_executor[number], worker->now_ns);
}

static void collect_outcomes(struct worker *worker)
{
	struct executor_report report;
	uint64_t count;
	uint32_t n_valid = 0;

	(void)!read(own.done_fd, &count, sizeof(count));
	executor_collect(executor_reported, worker);
	for (uint32_t i = 0; i < worker->orphan_count; i++) {
		struct executor *executor = worker->orphans[i];

		if (executor_take(executor, &report) & EXECUTOR_ENDED) {
			executor_free(executor);
			worker->executor_count--;
		} else {
			worker->orphans[n_valid++] = executor;
		}
	}
	worker->orphan_count = n_valid;
}

/* Begins the end of the worker: ends all executors, which resumes their clients. */
static void leave(struct worker *worker)
{
	struct client *client;

	if (worker->stopping)
		return;
	worker->stopping = true;
	log_info("shutting down; resuming all processes");
	for (uint32_t i = 0; (client = worker_next(worker, CLIENT_SERVED, &i));) {
		feed_set_capability(&worker->feed, client->id, CORE_REFUSED);
		if (client->executor)
			executor_send(client->executor, EXECUTOR_QUIT);
	}
}

static void configure(struct worker *worker)
{
	const struct config *config = &worker->config;

	feed_configure(&worker->feed, &config->core);
	for (uint32_t i = 0; i < config->node_count; i++)
		feed_set_policy(&worker->feed, config->node[i].gpu_id, &config->node[i].policy);
	control_policies(worker);
}

static bool same_core(const struct config *a, const struct config *b)
{
	return memcmp(&a->core, &b->core, sizeof(a->core)) == 0 && a->node_count == b->node_count &&
	       memcmp(a->node, b->node, a->node_count * sizeof(a->node[0])) == 0;
}

static bool same_rules(const struct config *a, const struct config *b)
{
	return memcmp(&a->rules, &b->rules, sizeof(a->rules)) == 0 &&
	       memcmp(&a->authority, &b->authority, sizeof(a->authority)) == 0;
}

static bool has_rules(const struct config *config)
{
	return config->rules.count || config->authority.count;
}

/* Makes worker->coming the configuration in force, for all clients at once, because the rights of
 * two clients can be compared only if both come from the same configuration. */
static void put_in_force(struct worker *worker)
{
	bool same = same_core(&worker->config, &worker->coming);
	bool again = has_rules(&worker->config) || has_rules(&worker->coming);

	worker->config = worker->coming;
	worker->config_number = worker->coming_number;
	worker->is_coming = false;
	log_set_verbose(worker->config.verbose);
	if (!same)
		configure(worker);
	client_attrs_configured(worker, again, clock_ns());
}

/* Continues to compare the new configuration with the one in force, for COMPARE_NS. Puts it in
 * force when all clients have been compared. */
static void compare_config(struct worker *worker)
{
	if (worker->is_coming && client_attrs_compare(worker, clock_ns() + COMPARE_NS))
		put_in_force(worker);
}

/* Takes a new configuration, if there is one, and begins to compare it with the one in force.
 * Matching all clients with all rules takes long, so it is spread over several loop iterations. The
 * comparison is left out if rules and grants are the same. */
static void read_config(struct worker *worker)
{
	if (!reload_take(own.reload, &worker->coming_number, &worker->coming))
		return;
	worker->is_coming = true;
	worker->compared = same_rules(&worker->config, &worker->coming) ? UINT32_MAX : 0;
	compare_config(worker);
}

static void take_signals(struct worker *worker)
{
	struct signalfd_siginfo info;

	while (read(own.signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			read_config(worker);
		else
			leave(worker);
	}
}

/* Admits AT_ONCE connections at most. The channel is level-triggered: epoll reports the rest
 * again. */
static void admit(struct worker *worker, uint64_t now)
{
	struct admitted admitted;
	int taken;

	for (int i = 0; i < AT_ONCE; i++) {
		taken = admission_take(&worker->admission, own.channel, &worker->config.owners, now,
				       &admitted);
		if (taken < 0)
			return;
		if (taken)
			client_accept(worker, &admitted, now);
	}
}

static void client_event(struct worker *worker, enum worker_event kind, struct client *client,
			 uint64_t now)
{
	switch (kind) {
	case WORKER_SOCKET:
		client_hung_up(worker, client, now);
		break;
	case WORKER_PIDFD:
		client_gone(worker, client, "has ended");
		break;
	default:
		if (client->phase == CLIENT_SERVED)
			scan_woken(worker, client, now);
	}
}

static void handle(struct worker *worker, const struct epoll_event *event, uint64_t now)
{
	enum worker_event kind;
	struct client *client = worker_event_client(worker, event->data.u64, &kind);

	switch (kind) {
	case WORKER_CHANNEL:
		admit(worker, now);
		break;
	case WORKER_SIGNAL:
		take_signals(worker);
		break;
	case WORKER_DONE:
		collect_outcomes(worker);
		break;
	case WORKER_READ:
		reader_receive(); /* take_replies() handles it */
		break;
	default:
		if (client)
			client_event(worker, kind, client, now);
	}
}

/* Receives answers of kfdschedd-read, and continues for the clients that waited for them. */
static void take_replies(struct worker *worker, uint64_t now)
{
	uint64_t asker;

	reader_step(now);
	while ((asker = reader_replied()) != 0)
		if (asker != READER_RULES)
			client_replied(worker, asker, now);
}

/* Calls client_overdue() for the next SWEEP_CLIENTS clients; later calls handle the rest. If there
 * are external processes (external.h), calls it for all clients, because no other code reads the
 * state of external processes. */
static void sweep_clients(struct worker *worker, uint64_t now)
{
	uint32_t left = worker->external_count ? UINT32_MAX : SWEEP_CLIENTS;
	struct client *client;

	for (uint32_t slots = worker->client_end; slots && left; slots--) {
		if (own.sweep_at >= worker->client_end)
			own.sweep_at = 0;
		client = worker->clients[own.sweep_at++];
		if (!client)
			continue;
		client_overdue(worker, client, now);
		left--;
	}
}

static void free_dead(struct worker *worker)
{
	struct client *client;

	for (uint32_t i = 0; worker->dead && (client = worker_next(worker, CLIENT_DEAD, &i));)
		client_free(worker, client);
}

/* Frees ended connections and clients, applies rules to external processes, calls sweep_clients()
 * every SWEEP_NS, and copies the totals to shared memory every KEEP_NS. */
static void sweep(struct worker *worker, uint64_t now)
{
	admission_check(&worker->admission, now);
	external_rules_check(worker, now);
	if (now >= own.swept_ns + SWEEP_NS) {
		own.swept_ns = now;
		if (now >= own.totals_saved_ns + KEEP_NS) {
			own.totals_saved_ns = now;
			worker->shared->totals = worker->totals;
		}
		sweep_clients(worker, now);
	}
	free_dead(worker);
}

static uint64_t sleep_until(const struct worker *worker, uint64_t now)
{
	uint64_t until = scan_next_ns(worker), query_ns = query_next();

	if (query_ns < until)
		until = query_ns;
	if (own.deadline_ns < until)
		until = own.deadline_ns;
	if (reader_next() < until)
		until = reader_next();
	if (worker->is_coming)
		until = now;
	return until < now + HEARTBEAT_NS ? until : now + HEARTBEAT_NS;
}

static void run(struct worker *worker)
{
	struct epoll_event events[EVENTS];
	struct ratelimit iteration = {0};
	uint64_t now, until;
	int n;

	while (!worker->stopping || worker->executor_count) {
		decide(worker);
		now = clock_ns();
		__atomic_store_n(&worker->shared->heartbeat_ns, now, __ATOMIC_RELEASE);
		nodes_beat(&worker->nodes, now);
		reader_step(now); /* sends the requests of this iteration */
		feed_iterate(&worker->feed, now);
		nodes_set_asleep(&worker->nodes, true);
		until = sleep_until(worker, now);
		/* a client that changed its memory before it read `asleep` as 1 has not written its
		 * eventfd */
		if (scan_few(worker, now)) {
			awake(worker);
			decide(worker);
			until = 0;
		}
		now = clock_ns();
		hist_add(&worker->totals.iteration, now - worker->now_ns);
		if (!ratelimit_take(&iteration, &iterations, now)) {
			sleep_until_ns(ratelimit_next(&iteration, &iterations, now));
			ratelimit_take(&iteration, &iterations, clock_ns());
		}
		n = epoll_until_ns(worker->epoll, events, EVENTS, until);
		awake(worker);
		worker->now_ns = now = clock_ns();
		for (int i = 1; i < n; i++)
			worker_prefetch(worker, events[i].data.u64);
		for (int i = 0; i < n; i++)
			handle(worker, &events[i], now);
		scan_late(worker, now);
		act(worker); /* before all less urgent work */
		take_replies(worker, now);
		lease_step(worker, now);
		query_step(worker, now);
		sweep(worker, now);
		compare_config(worker);
		metrics_publish(worker, now);
		filter_report();
	}
}

static int open_all(struct worker *worker)
{
	sigset_t set;

	int error = nodes_open(&worker->nodes);

	worker->core = feed_create(&worker->feed, &worker->config.core, WORKER_CLIENTS,
				   record_pipe(), record_start_ns(), clock_ns());
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	own.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (error || !worker->core || worker->epoll < 0 || own.signals < 0)
		return -ENOMEM;
	if (worker_watch(worker, own.channel, EPOLLIN, WORKER_CHANNEL, NULL) ||
	    worker_watch(worker, own.signals, EPOLLIN, WORKER_SIGNAL, NULL) ||
	    worker_watch(worker, own.done_fd, EPOLLIN, WORKER_DONE, NULL) ||
	    worker_watch(worker, own.reader, EPOLLIN, WORKER_READ, NULL))
		return -ENOMEM;
	return 0;
}

/* Frees what other modules hold for a client that has ended: its deferred scan, its query or
 * subscription to events, and its lease (suspension by request). */
static void client_exited(struct worker *worker, struct client *client, enum client_phase before)
{
	scan_limit_forget(worker, client);
	if (before == CLIENT_READING)
		events_gone();
	if (before == CLIENT_ASKING)
		query_end(worker, client);
	lease_gone(worker, client);
}

int worker_run(int channel, int reader, const struct reload *reload,
	       struct shared_state *shared_page, uint64_t *refused, struct executors *executors)
{
	struct worker *worker = &the_worker;
	struct rlimit files;

	own.channel = channel;
	own.done_fd = executors_done_fd(executors);
	own.reader = reader;
	executor_use(executors_table(executors), executors_want_fd(executors));
	reader_use(reader, &shared_page->reader, executors_want_fd(executors),
		   &worker->config.owners);
	own.reload = reload;
	reload_take(reload, &worker->config_number, &worker->config);
	worker->coming_number = worker->config_number;
	worker->shared = shared_page;
	worker->client_exited = client_exited;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	/* Lock the present memory before open_all() allocates the core's tables. These have room
	 * for far more clients than there are, so only their pages in use are to be locked. */
	memory_lock();
	if (open_all(worker)) {
		log_error("the worker cannot start: %s", strerror(errno));
		return 1;
	}
	admission_open(&worker->admission, refused);
	log_set_verbose(worker->config.verbose);
	configure(worker);
	memory_lock_new();
	privilege_urgent(true);
	privilege_drop(FILTER_WORKER, &shared_page->refused_calls);
	worker->now_ns = clock_ns();
	nodes_read(&worker->nodes, worker->now_ns);
	peer_own_namespaces(&worker->own_pid_ns, &worker->own_user_ns);
	worker->totals = shared_page->totals;
	__atomic_store_n(&shared_page->serving, 1, __ATOMIC_RELEASE);
	run(worker);
	feed_flush(&worker->feed);
	shared_page->totals = worker->totals;
	log_info("left");
	return 0;
}
