/* SPDX-License-Identifier: MIT */
/*
 * A stub of the daemon for tests of the agent. It performs the handshake, hands out the shared
 * memory of the client (`struct client_shm`) and of the daemon (`struct daemon_shm`), and gives the
 * test access to both. It never suspends a client.
 *
 * Threads: one. A failed system call ends the process with exit code 1 and a line on stderr.
 */
#ifndef KFDSHIM_TESTS_FAKE_DAEMON_H
#define KFDSHIM_TESTS_FAKE_DAEMON_H

#include <stdint.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"

/* ms to wait for the agent. It tries to connect once a second, and later if the machine stalls. */
#define MEETS_MS 10000

struct fake_daemon {
	/* directory and socket */
	char directory[64], path[80];
	int listener;
	struct daemon_shm *daemon_shm;
	int daemon_shm_fd, event_fd;
	uint32_t version; /* protocol version of the stub; 0: the current one */
	/* the last client */
	int client;
	struct protocol_hello hello;
	struct client_shm *shm;
};

/* Creates a temporary directory, listens there, and sets KFDSHIM_SOCKET to the socket's path. */
void fake_daemon_open(struct fake_daemon *daemon);
/* Waits up to `ms` milliseconds for a client and performs the handshake. Returns 0 or a negative
 * errno (-EAGAIN: no client). */
int fake_daemon_accept(struct fake_daemon *daemon, int ms);
/* Plays the daemon's death: closes all file descriptors. `shm` stays mapped for the test. */
void fake_daemon_die(struct fake_daemon *daemon);
/* Listens again at the same path, as a restarted daemon does. */
void fake_daemon_listen(struct fake_daemon *daemon);
/* Removes the socket and the directory. */
void fake_daemon_remove(struct fake_daemon *daemon);

/* Sends the last client a message, as the daemon does after it has changed the hold command. */
void fake_daemon_wake(struct fake_daemon *daemon);
/* Returns the number of times that the client has woken the daemon since the last call. */
uint64_t fake_daemon_wakes(struct fake_daemon *daemon);
/* Copies entry `slot` of the client's queue table. Retries while the entry is being written,
 * because the writer may have lost its core. Returns as client_shm_queue_read(). */
int fake_daemon_entry(const struct fake_daemon *daemon, uint32_t slot,
		      struct client_shm_queue *out);
/* Finds queue `id` in the client's queue table. Returns 0 or -ENOENT. */
int fake_daemon_queue(const struct fake_daemon *daemon, uint32_t id, struct client_shm_queue *out);
/* Returns the number of entries in use in the client's queue table. */
int fake_daemon_queue_count(const struct fake_daemon *daemon);
/* Returns 1 if the client is active on the node, 0 if it is idle, -1 if it has no such node. */
int fake_daemon_active(const struct fake_daemon *daemon, uint32_t gpu_id);
/* Returns how often the client's activity on the node has changed. */
uint64_t fake_daemon_transitions(const struct fake_daemon *daemon, uint32_t gpu_id);

#endif
