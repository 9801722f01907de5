/* SPDX-License-Identifier: MIT */
/*
 * Functions that the attacking programs share: connections to the daemon that can send anything,
 * and workloads that register without a GPU. They use channel/protocol.h as it is at build time, so
 * that one attacker serves every version of the protocol.
 */
#ifndef KFDSHIM_TESTS_SYSTEM_ATTACK_ATTACK_H
#define KFDSHIM_TESTS_SYSTEM_ATTACK_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"

#define ATTACK_FDS 253u /* maximum of descriptors in one message on Linux (SCM_MAX_FD) */

/* Prints one line with the text of `error` on standard error and exits with 1. `error` is an errno,
 * positive or negative. */
__attribute__((noreturn)) void attack_fail(const char *what, int error);
/* Makes this process end with its parent, and puts it into a process group of its own, which its
 * children inherit. */
void attack_begin(void);
/* Sleeps for `ms`; a signal ends the sleep early. */
void attack_sleep_ms(unsigned ms);

/* Connects like protocol_connect(), but waits until `until_ns` for room in the backlog. Returns a
 * socket that the caller closes, or a negative errno. */
int attack_connect(const char *path, uint64_t until_ns);
/* Returns a valid hello of this kind (enum protocol_kind) for the caller to change and send. */
struct protocol_hello attack_hello(uint32_t kind, int priority);
/* Sends one packet with up to ATTACK_FDS descriptors. Returns 0 or a negative errno. */
int attack_send(int sock, const void *data, size_t size, const int *fds, size_t nfds);

/* Receives one reply and returns its status, ignoring what comes with it. Returns a value above 0
 * if there was no reply within `timeout_ms` or the daemon closed the connection (EPIPE). */
int attack_status(int sock, int timeout_ms);

/* A workload that is registered with the daemon but has no GPU. Its files stay open until the
 * process ends. */
struct attack_shim {
	int sock;
	/* files that came with the welcome: the client's shared memory (struct client_shm), the
	 * daemon's (struct daemon_shm), and the eventfd that wakes the daemon */
	int fds[8];
	size_t nfds;
	struct client_shm *shm;
	const struct daemon_shm *daemon_shm;
	uint32_t node; /* slot of the GPU in the client's shared memory */
};

/* Registers this process as a workload on the GPU. Returns 0, the negative status of the welcome,
 * or another negative errno. */
int attack_register(struct attack_shim *shim, const char *path, int priority,
		    enum protocol_level level, uint32_t gpu_id);
/* Publishes that the GPU becomes active or idle for this client, and wakes the daemon if
 * necessary. */
void attack_active(struct attack_shim *shim, bool active);
/* Wakes the daemon by its eventfd if the daemon is asleep. */
void attack_wake(struct attack_shim *shim);

#endif
