/* SPDX-License-Identifier: MIT */
/*
 * The process that accepts connections (kfdschedd-door). It has no capability, no device and no
 * debug session, so that a client that blocks it blocks nothing else.
 *
 * It receives the hello of each client, checks that the client has sent nothing else, shuts the
 * connection down for reading, and passes connection and hello to the worker. So the worker never
 * receives and never closes a file descriptor that a client has chosen; closing one may block (a
 * file of FUSE, a TCP socket with SO_LINGER). Users take turns, and connections of root are passed
 * on before those of other users. The channel to the worker has room for only a few connections, so
 * that no user waits behind all connections of another.
 *
 * Where the kernel can refuse descriptors (SO_PASSRIGHTS, Linux 6.16), none arrive. On older
 * kernels a connection with descriptors is detected by MSG_PEEK, before any of them is received,
 * and is left to a separate process to close. ADMISSION_SINKS of these processes can be blocked at
 * a time; then only the socket for root is served until one of them has ended.
 *
 * Threads: the process has one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_ADMISSION_GREETER_H
#define KFDSHIM_SCHEDULER_DAEMON_ADMISSION_GREETER_H

#include "scheduler/daemon/config/config.h"
#include "scheduler/daemon/log.h"

#define ADMISSION_PENDING 512u /* maximum number of connections that are not passed on yet */
#define ADMISSION_SINKS 64u    /* maximum number of processes that close connections */

/* Memory that the watchdog shares with kfdschedd-door; kept and accessed as struct shared_state
 * (worker.h). It is separate from that struct because kfdschedd-door reads untrusted input: it is
 * trusted less, and cannot write struct shared_state. */
struct admission_state {
	uint64_t heartbeat_ns; /* heartbeat of the process, ns; set by the watchdog at each start */
	uint64_t refused;      /* connections refused, by this process and by the worker */
	uint64_t refused_calls; /* system calls refused to this process (privileges.h) */
	struct log_losses log;	/* log lines lost by this process */
};

/* What the process needs from the watchdog. */
struct admission_process {
	int listener, root_listener; /* root_listener: -1 if there is none */
	/* sending end of the channel to the worker: SOCK_SEQPACKET, non-blocking, minimal buffer */
	int channel;
	const struct reload *reload; /* source of the owners of uids */
	struct admission_state *shared;
};

/* The main function of kfdschedd-door. It runs until the process is killed, and returns only if it
 * cannot start: the exit code. */
int admission_run(const struct admission_process *admission_process);

#endif
