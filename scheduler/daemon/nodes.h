/* SPDX-License-Identifier: MIT */
/*
 * The nodes (GPUs) in struct daemon_shm: which nodes the driver has, the core's state of each node,
 * and the time in which clients had work on it.
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
	uint32_t gpu_id;  /* 0: free entry */
	uint32_t clients; /* number that have work now */
	/* since_ns: when `clients` last became > 0; ns: total time before that */
	uint64_t since_ns, ns;
};

struct nodes {
	struct daemon_shm *daemon_shm,
		/* older_shm: for clients with the previous version of the protocol; NULL until the
		 * first such client connects */
		*older_shm;
	int daemon_shm_fd, older_shm_fd; /* fds of both memories, to send to clients */
	uint64_t read_ns;		 /* last nodes_read(); 0: never */
	struct node_work work[CLIENT_SHM_NODES];
};

/* Creates struct daemon_shm. Returns 0 or a negative errno. */
int nodes_open(struct nodes *nodes);

/* Reads the list of nodes from sysfs and writes it into daemon shared memory. Does nothing if less
 * than a second has passed since the last read. */
void nodes_read(struct nodes *nodes, uint64_t now);

/* Returns true if the driver has this node, as of the last nodes_read(). */
bool nodes_known(const struct nodes *nodes, uint32_t gpu_id);

/* Writes the core's state of each node into daemon shared memory. */
void nodes_publish(struct nodes *nodes, const struct core *core);

/* nodes_beat() writes the heartbeat of the daemon into daemon shared memory. nodes_set_asleep()
 * writes whether clients must write their eventfd after a change. */
void nodes_beat(struct nodes *nodes, uint64_t now);
void nodes_set_asleep(struct nodes *nodes, bool asleep);

/* Returns the file descriptor of struct daemon_shm for clients with protocol version `version`, or
 * a negative errno. `nodes` keeps ownership of the descriptor. The memory for older clients has
 * room for the first 16 nodes only. */
int nodes_daemon_shm(struct nodes *nodes, uint32_t version);

/* Records for nodes_work_ns() that a client begins or ends to have work on a node. */
void nodes_work(struct nodes *nodes, uint32_t gpu_id, bool begins, uint64_t now);

/* Returns the time in ns in which clients had work on the node since this worker started. */
uint64_t nodes_work_ns(const struct nodes *nodes, uint32_t gpu_id, uint64_t now);

#endif
