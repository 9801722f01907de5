/* SPDX-License-Identifier: MIT */
/*
 * What the attackers share: connections to the daemon that say anything, and workloads that
 * register without a GPU. By channel/protocol.h as it is at build time, so that the same
 * attacker serves for every version of the protocol.
 */
#ifndef KFDSHIM_TESTS_SYSTEM_ATTACK_ATTACK_H
#define KFDSHIM_TESTS_SYSTEM_ATTACK_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/lane.h"
#include "channel/protocol.h"

#define ATTACK_FDS 253u /* the most that Linux takes in one message (SCM_MAX_FD) */

/* One line on standard error with the error's text; ends the program with 1. */
__attribute__((noreturn)) void attack_fail(const char *what, int error);
/* Ends with its parent, and is in a process group of its own that its children inherit. */
void attack_begin(void);
void attack_sleep_ms(unsigned ms);

/* Like protocol_connect(), but waits until `until_ns` for room in the backlog. */
int attack_connect(const char *path, uint64_t until_ns);
struct protocol_hello attack_hello(uint32_t kind, int priority);
/* One packet with up to ATTACK_FDS descriptors. 0 or a negative errno. */
int attack_send(int sock, const void *data, size_t size, const int *fds, size_t nfds);

/* The status of the answer, whatever comes with it. > 0: there was none within `timeout_ms`, or
 * the daemon hung up (EPIPE). */
int attack_status(int sock, int timeout_ms);

struct attack_shim {
	int sock;
	int fds[8]; /* what came with the welcome: lane, board, the eventfd that wakes the daemon */
	size_t nfds;
	struct lane *lane;
	const struct board *board;
	uint32_t node; /* slot of the GPU in the lane */
};

/* Registers this process. 0, the negative status of the welcome, or another negative errno. */
int attack_register(struct attack_shim *shim, const char *path, int priority,
		    enum protocol_level level, uint32_t gpu_id);
/* The GPU becomes active or idle for it. */
void attack_active(struct attack_shim *shim, bool active);
void attack_wake(struct attack_shim *shim);

#endif
