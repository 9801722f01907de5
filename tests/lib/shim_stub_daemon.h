/* SPDX-License-Identifier: MIT */
/*
 * The daemon's end of the handshake and nothing more: it hands out a lane and
 * a board and lets the test look into them. It suspends nobody.
 */
#ifndef KFDSHIM_TESTS_FAKE_DAEMON_H
#define KFDSHIM_TESTS_FAKE_DAEMON_H

#include <stdint.h>

#include "channel/lane.h"
#include "channel/protocol.h"

/* A client asks once a second, and is late where the machine stands still. */
#define MEETS_MS 10000

struct fake_daemon {
	char folder[64], path[80];
	int listener;
	struct board *board;
	int board_fd, event_fd;
	uint32_t version; /* of the protocol; 0: this one */
	/* the last client */
	int client;
	struct protocol_hello hello;
	struct lane *lane;
};

/* Listens in a folder of its own and puts the path into KFDSHIM_SOCKET. */
void fake_daemon_open(struct fake_daemon *daemon);
/* Waits up to `ms` for a client and serves it. 0, or a negative errno. */
int fake_daemon_accept(struct fake_daemon *daemon, int ms);
/* Its end, by death: descriptors close; `lane` stays mapped for the test. */
void fake_daemon_die(struct fake_daemon *daemon);
/* The next one, at the same path. */
void fake_daemon_listen(struct fake_daemon *daemon);
/* Removes what is left in the file system. */
void fake_daemon_remove(struct fake_daemon *daemon);

/* Wakes the last client, because of an order in its lane. */
void fake_daemon_wake(struct fake_daemon *daemon);
/* Wakes since the last call. */
uint64_t fake_daemon_wakes(struct fake_daemon *daemon);
/* What stands in a slot of the client's lane (lane_queue_read), whose writer may have no
 * core in the middle of it. */
int fake_daemon_entry(const struct fake_daemon *daemon, uint32_t slot, struct lane_queue *out);
/* The entry of queue `id` on the client's lane; a negative errno: none. */
int fake_daemon_queue(const struct fake_daemon *daemon, uint32_t id, struct lane_queue *out);
int fake_daemon_queue_count(const struct fake_daemon *daemon);
/* Is the node active on the lane? -1: not there. */
int fake_daemon_active(const struct fake_daemon *daemon, uint32_t gpu_id);
/* How often it changed. */
uint64_t fake_daemon_transitions(const struct fake_daemon *daemon, uint32_t gpu_id);

#endif
