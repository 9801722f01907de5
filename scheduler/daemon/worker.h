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
#include "common/hist.h"
#include "scheduler/core/core.h"
#include "scheduler/daemon/beat.h"
#include "scheduler/daemon/client.h"
#include "scheduler/daemon/outsider_rules.h"
#include "scheduler/daemon/reload.h"

#define WORKER_CLIENTS 1024u

/* What an epoll event is about: kind << 32 | slot of the client. */
enum worker_event {
	WORKER_LISTENER,
	WORKER_SIGNAL,
	WORKER_DONE,
	WORKER_SOCKET,
	WORKER_PIDFD,
	WORKER_WAKE,
	WORKER_SESSION,
};

struct totals {
	uint64_t suspends, resumes, failures;
	struct hist detection, holdover, suspend, resume; /* ns, wall */
};

struct worker {
	const struct reload *reload;
	struct config config; /* in force */
	uint32_t config_number;
	struct core *core;
	struct beat *beat;
	struct board *board;
	int board_fd;
	int listener, epoll, signals;
	int done_fd; /* executors write it */
	bool leaving;
	uint64_t own_pid_ns, own_user_ns;
	uint32_t client_end; /* slots from here on are free */
	uint32_t last_tenant, last_group;
	struct client *clients[WORKER_CLIENTS];
	struct client *by_core[WORKER_CLIENTS];	  /* by core_index() */
	struct executor *orphans[WORKER_CLIENTS]; /* their client is gone, they end */
	uint32_t orphan_count;
	uint32_t to_release; /* clients with wants_release */
	uint64_t deadline_ns;
	uint64_t nodes_read_ns;
	uint64_t metrics_due_ns;
	uint64_t session_moved_ns; /* level.c: from one process to another */
	struct core_action actions[WORKER_CLIENTS];
	struct totals totals;
	struct outsider_rules outsider_rules;
	struct events events;
};

/* The worker's process: returns its exit code. */
int worker_run(int listener, const struct reload *reload, struct beat *beat);

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

/* status.c: answers a command at `socket` with JSON: the state of all, or with
 * `pid` all that is known of that workload. 0 or a negative errno; -ESRCH: no
 * workload of that pid is registered. */
int status_answer(struct worker *worker, int socket, int pid);

#endif
