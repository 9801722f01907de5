/* SPDX-License-Identifier: MIT */
/*
 * The worker: one loop that decides. It reads the lanes, feeds the core, hands
 * the core's actions to executors, and never waits for any of them.
 *
 * Threads: everything here belongs to the loop's thread, but what executor.h
 * says of itself.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_WORKER_H
#define KFDSHIM_SCHEDULER_DAEMON_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/lane.h"
#include "channel/protocol.h"
#include "scheduler/core/core.h"
#include "scheduler/daemon/answer.h"
#include "scheduler/daemon/beat.h"
#include "scheduler/daemon/client.h"
#include "scheduler/daemon/door.h"
#include "scheduler/daemon/executors.h"
#include "scheduler/daemon/feed.h"
#include "scheduler/daemon/look.h"
#include "scheduler/daemon/outsider_rules.h"
#include "scheduler/daemon/reload.h"
#include "scheduler/daemon/totals.h"

#define WORKER_CLIENTS DOOR_SLOTS

/* What an epoll event is about. */
enum worker_event {
	WORKER_CHANNEL, /* connections */
	WORKER_SIGNAL,
	WORKER_DONE,
	WORKER_READ, /* an answer (reader.h) */
	WORKER_SOCKET,
	WORKER_PIDFD,
	WORKER_WAKE,
};

/* The client's serial goes along: an event that was on its way when its slot got another
 * client is nobody's. */
static inline uint64_t worker_event_data(enum worker_event kind, uint32_t serial, uint32_t slot)
{
	return (uint64_t)kind << 56 | (uint64_t)serial << 16 | slot;
}

/* How long processes with the shim had work on a node, however many at once. */
struct node_work {
	uint32_t gpu_id;  /* 0: free */
	uint32_t clients; /* that have work there now */
	uint64_t since_ns, ns;
};

struct worker {
	const struct reload *reload;
	struct config config; /* in force */
	uint32_t config_number;
	const struct core *core; /* to look at; its changes go through the feed */
	struct feed feed;
	struct beat *beat;
	struct door_beat *door_beat;
	struct board *board,
		*older_board; /* older_board: NULL until a client has come that needs it */
	int board_fd, older_board_fd;
	int channel; /* from the process that accepts connections */
	int epoll, signals;
	int done_fd; /* executors write it */
	int reader;  /* the connection to kfdschedd-read */
	bool leaving, said_awake;
	bool orders_wait; /* a command is not answered yet that wants a process suspended */
	uint64_t own_pid_ns, own_user_ns;
	uint32_t client_end; /* slots from here on are free */
	uint32_t dead;	     /* clients that are CLIENT_DEAD */
	uint32_t serial;     /* of the last client */
	uint64_t now_ns;     /* when this turn of the loop began */
	uint64_t swept_ns, totals_kept_ns;
	struct door door;
	struct looks looks;
	struct answers answers;
	struct budget causes;
	uint32_t last_tenant, last_group;
	struct client *clients[WORKER_CLIENTS];
	struct client *by_core[WORKER_CLIENTS];	    /* by core_index() */
	struct client *by_executor[EXECUTOR_SLOTS]; /* by executor_number() */
	struct executor *orphans[EXECUTOR_SLOTS];   /* their client is gone, they end */
	uint32_t orphan_count;
	uint32_t executor_count; /* the orphans included */
	uint32_t to_release;	 /* clients with wants_release */
	uint64_t deadline_ns;
	uint64_t nodes_read_ns;
	struct node_work work[LANE_NODES];
	uint64_t metrics_due_ns;
	uint64_t session_moved_ns; /* level.c: from one process to another */
	struct core_action actions[WORKER_CLIENTS];
	struct totals totals;
	struct outsider_rules outsider_rules;
	struct events events;
};

/* The worker's process, with its ends of the channel to the door (greeter.h) and of the
 * connection to the process that reads in /proc (reader.h): returns its exit code. */
int worker_run(int channel, int reader, const struct reload *reload, struct beat *beat,
	       struct door_beat *door_beat, struct executors *executors);

/* Watches fd for the events of epoll_ctl(2). 0 or a negative errno. */
int worker_watch(struct worker *worker, int fd, uint32_t events, enum worker_event kind,
		 uint32_t slot);
/* Before it is closed, where somebody else may have the file open too: the events of an
 * open file go on, to whoever has the slot then. -1: nothing. */
void worker_unwatch(struct worker *worker, int fd);

/* nodes.c: brings the board's nodes up to date with sysfs (at most once a
 * second), and with what the core says of them. */
void nodes_read(struct worker *worker, uint64_t now);
bool nodes_known(const struct worker *worker, uint32_t gpu_id);
void nodes_publish(struct worker *worker);
/* The file of the board for clients of this version of the protocol, which stays the worker's, or a
 * negative errno. That of an older one has the first nodes alone. */
int nodes_board(struct worker *worker, uint32_t version);
/* A client's work on a node begins or ends; and what that comes to since this worker began. */
void nodes_work(struct worker *worker, uint32_t gpu_id, bool begins, uint64_t now);
uint64_t nodes_work_ns(const struct worker *worker, uint32_t gpu_id, uint64_t now);

#endif
