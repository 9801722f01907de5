/* SPDX-License-Identifier: MIT */
/*
 * The nodes (GPUs) in struct daemon_shm: which ones the driver has, the core's state of each, and
 * the time in which clients had work on it.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_NODES_H
#define KFDSHIM_SCHEDULER_DAEMON_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/client_shm.h"

struct core;

/* Time in which at least one process with the shim had work on a node. */
struct node_work {
	uint32_t gpu_id;       /* 0: free entry */
	uint32_t clients;      /* number that have work now */
	uint64_t since_ns, ns; /* when `clients` became > 0; total until then */
};

struct nodes {
	struct daemon_shm *daemon_shm,
		/* older_shm: for clients of the version before; NULL until the first one */
		*older_shm;
	int daemon_shm_fd, older_shm_fd; /* fds of both memories, to send to clients */
	uint64_t read_ns;		 /* last nodes_read(); 0: never */
	struct node_work work[CLIENT_SHM_NODES];
};

/* Creates struct daemon_shm. Returns 0 or a negative errno. */
int nodes_open(struct nodes *nodes);

/* Reads the nodes from sysfs into the shared pages, at most once a second. */
void nodes_read(struct nodes *nodes, uint64_t now);

/* Returns true if the driver has this node, as of the last nodes_read(). */
bool nodes_known(const struct nodes *nodes, uint32_t gpu_id);

/* Writes the core's state of each node into the shared pages. */
void nodes_publish(struct nodes *nodes, const struct core *core);

/* nodes_beat() writes the heartbeat of the daemon into the shared pages, nodes_set_asleep() whether
 * clients must write their eventfd after a change. */
void nodes_beat(struct nodes *nodes, uint64_t now);
void nodes_set_asleep(struct nodes *nodes, bool asleep);

/* Returns the file of struct daemon_shm for clients of this version of the protocol, or a negative
 * errno. `nodes` keeps ownership. The file of the older version has room for the first 16 nodes
 * only. */
int nodes_daemon_shm(struct nodes *nodes, uint32_t version);

/* Counts work of a client on a node that begins or ends. */
void nodes_work(struct nodes *nodes, uint32_t gpu_id, bool begins, uint64_t now);

/* Returns the time in ns in which clients had work on the node since this worker started. */
uint64_t nodes_work_ns(const struct nodes *nodes, uint32_t gpu_id, uint64_t now);

#endif
