/* SPDX-License-Identifier: MIT */
/*
 * The worker process: one loop that decides. It scans the shared memory of the clients, passes
 * events to the core (scheduler/core), passes the core's actions to executors, and never waits
 * for any of them.
 *
 * nodes.c implements the functions nodes_*().
 *
 * Threads: the worker's loop only, except what executor.h states about its functions.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_WORKER_H
#define KFDSHIM_SCHEDULER_DAEMON_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "scheduler/core/sched.h"
#include "scheduler/daemon/admission/admission.h"
#include "scheduler/daemon/beat.h"
#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/clients/external_rules.h"
#include "scheduler/daemon/clients/scan_ratelimit.h"
#include "scheduler/daemon/config/reload.h"
#include "scheduler/daemon/executor/executors.h"
#include "scheduler/daemon/operator/query.h"
#include "scheduler/daemon/recording/feed.h"
#include "scheduler/daemon/totals.h"

#define WORKER_CLIENTS ADMISSION_SLOTS

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

/* Encodes the source of an epoll event. The serial of the client is included so that an event
 * that was pending when its slot was given to another client is ignored. */
static inline uint64_t worker_event_data(enum worker_event kind, uint32_t serial, uint32_t slot)
{
	return (uint64_t)kind << 56 | (uint64_t)serial << 16 | slot;
}

/* Time in which at least one process with the shim had work on a node. */
struct node_work {
	uint32_t gpu_id;       /* 0: free entry */
	uint32_t clients;      /* number that have work now */
	uint64_t since_ns, ns; /* when `clients` became > 0; total until then */
};

/* State of the worker; there is one. */
struct worker {
	const struct reload *reload;
	struct config config;	/* configuration in force */
	uint32_t config_number; /* its number (reload_take()) */
	/* The configuration that was taken last, its number, and whether it is still compared with
	 * the one in force (client_attrs_compare()); `compared`: slots of clients below are done. */
	struct config coming;
	uint32_t coming_number, compared;
	bool is_coming;
	const struct core *core; /* read-only: changes go through `feed` */
	struct feed feed;
	struct shared_state *shared;
	struct admission_state *admission_state;
	struct daemon_shm *daemon_shm,
		/* older_shm: for clients of the version before; NULL until the first one */
		*older_shm;
	int daemon_shm_fd, older_shm_fd; /* files of both, to send to clients */
	int channel;			 /* connections from kfdschedd-door */
	int epoll, signals;
	int done_fd; /* eventfd that executors write */
	int reader;  /* connection to kfdschedd-read */
	/* the daemon is ending; daemon_shm->asleep was 0 since the last scan of all clients */
	bool stopping, published_awake;
	bool suspends_pending;		    /* a suspend request has not been answered yet */
	uint64_t own_pid_ns, own_user_ns;   /* inode numbers of the daemon's namespaces */
	uint32_t client_end;		    /* slots from here on are free */
	uint32_t dead;			    /* number of clients that are CLIENT_DEAD */
	uint32_t serial;		    /* serial of the newest client */
	uint64_t now_ns;		    /* start of this loop iteration, CLOCK_MONOTONIC ns */
	uint64_t swept_ns, totals_saved_ns; /* last sweep; last copy of `totals` to `shared` */
	struct admission admission;
	struct scan_limits scans;
	struct queries queries;
	struct ratelimit causes;	  /* searches for the cause of an action */
	uint32_t last_tenant, last_group; /* last number given to each */
	struct client *clients[WORKER_CLIENTS];
	struct client *by_core[WORKER_CLIENTS];	    /* by core_index() */
	struct client *by_executor[EXECUTOR_SLOTS]; /* by executor_number() */
	/* executors without a client, which are ending */
	struct executor *orphans[EXECUTOR_SLOTS];
	uint32_t orphan_count;
	uint32_t executor_count; /* executors in use, including orphans */
	/* clients for which client_release() is to be called, in no order */
	struct client *releasing[WORKER_CLIENTS];
	uint32_t release_count;
	uint64_t deadline_ns;	/* next deadline of the core */
	uint64_t nodes_read_ns; /* last nodes_read(); 0: never */
	struct node_work work[CLIENT_SHM_NODES];
	uint64_t metrics_due_ns;   /* next snapshot of the metrics */
	uint64_t session_moved_ns; /* last move of a session between processes (client_level.c) */
	struct core_action actions[WORKER_CLIENTS]; /* of the last decision */
	struct totals totals;
	struct external_rules external_rules;
	struct events events;
};

/*
 * The main function of the worker process. `channel` is its end of the channel from
 * kfdschedd-door (greeter.h), `reader` its end of the connection to kfdschedd-read (reader.h).
 * Returns the exit code of the process: 0 after all clients have been resumed, 1 if it could not
 * start.
 */
int worker_run(int channel, int reader, const struct reload *reload, struct shared_state *shared,
	       struct admission_state *admission_state, struct executors *executors);

/* Adds `fd` to the loop with the events of epoll_ctl(2). Returns 0 or a negative errno. */
int worker_watch(struct worker *worker, int fd, uint32_t events, enum worker_event kind,
		 uint32_t slot);

/* Removes `fd` (-1: nothing) from the loop. Needed before close() if another process may have a
 * copy of it: epoll would keep reporting events of the open file, for a slot that may belong to
 * another client. */
void worker_unwatch(struct worker *worker, int fd);

/* Reads the nodes from sysfs into the shared pages (struct daemon_shm), at most once a second. */
void nodes_read(struct worker *worker, uint64_t now);

/* Returns true if the driver has this node, as of the last nodes_read(). */
bool nodes_known(const struct worker *worker, uint32_t gpu_id);

/* Writes the core's state of each node into the shared pages. */
void nodes_publish(struct worker *worker);

/* Returns the file of struct daemon_shm for clients of this version of the protocol, or a negative
 * errno. The worker keeps ownership. The file of the older version has room for the first 16
 * nodes only. */
int nodes_daemon_shm(struct worker *worker, uint32_t version);

/* Work of a client on a node begins or ends. */
void nodes_work(struct worker *worker, uint32_t gpu_id, bool begins, uint64_t now);

/* Returns the time in ns in which clients had work on the node since this worker started. */
uint64_t nodes_work_ns(const struct worker *worker, uint32_t gpu_id, uint64_t now);

#endif
