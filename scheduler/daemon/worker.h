/* SPDX-License-Identifier: MIT */
/*
 * The worker process: one loop (loop.c) that scans the shared memory of the clients, passes events
 * to the core (scheduler/core), passes the core's actions to executors (executor.h). The loop never
 * waits for a client or an executor.
 *
 * This header has what the modules of the worker share: the table of clients, the core, the
 * configuration in force, the time of the loop iteration, and the file descriptors that the loop
 * watches.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_WORKER_H
#define KFDSHIM_SCHEDULER_DAEMON_WORKER_H

#include "common/histogram.h"
#include "scheduler/core/sched.h"
#include "scheduler/daemon/admission/admission.h"
#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/config/config.h"
#include "scheduler/daemon/executor/executor.h"
#include "scheduler/daemon/nodes.h"
#include "scheduler/daemon/reader/reader.h"
#include "scheduler/daemon/recording/feed.h"

struct executors;
struct reload;

#define WORKER_CLIENTS ADMISSION_SLOTS

/* Counters of the whole daemon since it started; they include those of earlier workers. The
 * worker's loop writes them. */
struct totals {
	uint64_t suspends, resumes, failures, scans;	  /* scans of shared memory */
	struct hist detection, holdover, suspend, resume; /* ns of wall time */
	/* ns of wall time of a loop iteration, without its sleep */
	struct hist iteration;
};

/*
 * State that control requests have set, and that a new worker cannot get from the processes: leases
 * (lease.h), priorities and policies. It ends with the daemon.
 *
 * The worker writes it, and there is one worker at a time. The worker may be killed at any
 * instruction. Therefore `used` is written last, and an entry with `used` set is complete. An entry
 * that was being written when the worker was killed belongs to a request that has not been
 * confirmed to its sender. A process is named by pid and start time, so that another process with
 * the same pid never inherits a request. lease.h has the functions.
 */
#define SAVED_PROCESSES 1024u
#define SAVED_POLICIES (CORE_POLICIES + 1) /* one a node, and the default policy */

struct saved_process {
	uint32_t used; /* 1: the entry is valid; written last */
	pid_t pid;
	uint64_t started; /* start time, as in struct socket_peer */
	int32_t priority; /* PRIORITY_OWN: no priority was set by a request */
	/* end of the suspension, CLOCK_MONOTONIC ns; 0: not suspended by a request */
	uint64_t lease_ns;
};

struct saved_policy {
	uint32_t used;	 /* 1: the entry is valid; written last */
	uint32_t gpu_id; /* 0: the policy of all nodes without their own */
	struct core_policy policy;
};

struct saved_state {
	struct saved_process processes[SAVED_PROCESSES];
	struct saved_policy policies[SAVED_POLICIES];
};

/*
 * The memory that the watchdog and the worker share. The watchdog maps it before its first fork and
 * keeps it, so that its content survives each worker. Each field has the one writer that is named
 * with it, except the counters, which several processes increment atomically. A word that one
 * process writes while another process may read it is accessed with the __atomic builtins.
 */
struct shared_state {
	uint64_t started_ns; /* set by the watchdog: when the daemon started, CLOCK_MONOTONIC ns */
	uint64_t restarts;   /* set by the watchdog: number of workers started after the first */
	/* time of the last loop iteration, ns; also set by the watchdog at each start */
	uint64_t heartbeat_ns;
	/* set to 1 by the worker when its loop runs, to 0 by the watchdog at each start */
	uint32_t serving;
	struct reader_state reader;
	struct saved_state saved; /* set by the worker: control requests, for the next worker */
	/* number of refused system calls (privileges.h), of all processes without a counter of
	 * their own */
	uint64_t refused_calls;
	/* number of lost log lines (log.h), of all processes without a counter of their own */
	struct log_losses log;
	struct metrics_saved metrics; /* set by the worker: metrics, continued by the next worker */
	/* set by the worker once a second and at its end: totals, for the next worker */
	struct totals totals;
};

/* The source of an epoll event. */
enum worker_event {
	WORKER_CHANNEL, /* connections from kfdschedd-door */
	WORKER_SIGNAL,	/* the signalfd */
	WORKER_DONE,	/* outcomes of executors */
	WORKER_READ,	/* answers of kfdschedd-read (reader.h) */
	WORKER_SOCKET,	/* a client's connection; the kinds from here on belong to a client */
	WORKER_PIDFD,	/* end of a client's process */
	WORKER_WAKE,	/* a client's eventfd */
};

/* Scans that client_scan.c has deferred. */
struct scan_limits {
	uint64_t next_ns; /* time at which the deferred scans are made */
	uint32_t late_count;
	uint16_t late[WORKER_CLIENTS]; /* slots of clients with a deferred scan */
};

/* State of the worker; there is one. */
struct worker {
	struct config config;	/* configuration in force */
	uint32_t config_number; /* number of `config` (reload_take()) */
	/* coming: a new configuration, which replaces `config` when all clients have been compared
	 * with it (client_attrs_compare()). is_coming: there is one. coming_number: its number.
	 * compared: slot of the client at which the comparison continues. */
	struct config coming;
	uint32_t coming_number, compared;
	bool is_coming;
	const struct core *core; /* read-only: changes go through `feed` */
	struct feed feed;
	struct shared_state *shared;
	struct admission admission;
	struct nodes nodes;
	int epoll;
	bool stopping;			  /* the daemon is ending */
	uint64_t now_ns;		  /* start of this loop iteration, CLOCK_MONOTONIC ns */
	uint64_t own_pid_ns, own_user_ns; /* inode numbers of the daemon's namespaces */
	uint32_t client_end;		  /* slots from here on are free */
	uint32_t dead;			  /* number of clients that are CLIENT_DEAD */
	uint32_t external_count;	  /* number of clients with `external` */
	uint32_t serial;		  /* serial of the newest client */
	uint32_t last_tenant, last_group; /* last number given to each */
	struct client *clients[WORKER_CLIENTS];
	struct client *by_core[WORKER_CLIENTS];	    /* by core_index() */
	struct client *by_executor[EXECUTOR_SLOTS]; /* by executor_number() */
	/* executors without a client, which are ending */
	struct executor *orphans[EXECUTOR_SLOTS];
	uint32_t orphan_count;
	uint32_t executor_count; /* executors in use, including orphans */
	/* clients whose announced calls are to be permitted (client_release_all()), unsorted */
	struct client *releasing[WORKER_CLIENTS];
	uint32_t release_count;
	struct scan_limits scans;
	struct totals totals;
	/* Called by client_gone() when a client has ended; `before` is its phase until then. Frees
	 * what other modules hold for it. It is a pointer, because client_gone() must not depend on
	 * these modules. */
	void (*client_exited)(struct worker *worker, struct client *client,
			      enum client_phase before);
};

/* Returns the first client in `phase` from slot *at on, and sets *at to the slot after it; NULL:
 * there is none. */
static inline struct client *worker_next(const struct worker *worker, enum client_phase phase,
					 uint32_t *at)
{
	while (*at < worker->client_end) {
		struct client *client = worker->clients[(*at)++];

		if (client && client->phase == phase)
			return client;
	}
	return NULL;
}

/* Returns the workload (CLIENT_SERVED) with the given pid in the daemon's PID namespace, or
 * NULL. `started`: start time, as in struct socket_peer; 0: any. */
struct client *worker_workload(const struct worker *worker, pid_t pid, uint64_t started);

/* Returns the user of a client's connection; valid until the next connection is admitted. */
struct user *worker_user(struct worker *worker, const struct client *client);

/* Makes the loop wait for `events` (of epoll_ctl(2)) of `fd`. Each event is reported with `kind`
 * and `client`; NULL: it belongs to no client. Returns 0 or a negative errno. */
int worker_watch(struct worker *worker, int fd, uint32_t events, enum worker_event kind,
		 const struct client *client);

/* Changes the events for which the loop waits on a client's `fd`. */
void worker_rewatch(struct worker *worker, int fd, uint32_t events, enum worker_event kind,
		    const struct client *client);

/* Removes `fd` (-1: nothing) from the loop. Needed before close() if another process may have a
 * copy of it: epoll would keep reporting events of the open file, for a slot that may belong to
 * another client. */
void worker_unwatch(struct worker *worker, int fd);

/* Returns the client and the source of an event that epoll has reported. NULL: the event belongs
 * to no client, or to one that has ended. */
struct client *worker_event_client(const struct worker *worker, uint64_t data,
				   enum worker_event *kind);

/*
 * The main function of the worker process. `channel` is its end of the channel from
 * kfdschedd-door (greeter.h), `reader` its end of the connection to kfdschedd-read (reader.h).
 * `refused` counts refused connections. Returns the exit code of the process: 0 after all clients
 * have been resumed, 1 if it could not start.
 */
int worker_run(int channel, int reader, const struct reload *reload, struct shared_state *shared,
	       uint64_t *refused, struct executors *executors);

/* Prefetches the struct of the client that an event belongs to; the event is handled soon. */
void worker_prefetch(const struct worker *worker, uint64_t data);

#endif
