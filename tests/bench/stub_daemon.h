/* SPDX-License-Identifier: MIT */
/*
 * A stub of the daemon inside a benchmark's own process. It performs the handshake with the agent,
 * so that the benchmark can read what the agent publishes in its shared memory (`struct
 * client_shm`), and when. It never suspends a client.
 *
 * Threads: one. A failed call ends the process with exit code 1 and a line on stderr.
 */
#ifndef KFDSHIM_TESTS_BENCH_STUB_DAEMON_H
#define KFDSHIM_TESTS_BENCH_STUB_DAEMON_H

#include "channel/client_shm.h"

/* Listens on a socket in a temporary directory, and sets KFDSHIM_SOCKET to its path. */
void stub_daemon_open(void);
/* Waits up to 5 s for the agent. Returns the agent's shared memory. Removes the socket. */
const struct client_shm *stub_daemon_accept(void);

#endif
