/* SPDX-License-Identifier: MIT */
/*
 * Interface to systemd (sd-daemon.h): sockets that systemd passes, and notifications to it.
 * Without systemd, none of the functions has an effect.
 *
 * Threads: main() and the watchdog.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_SYSTEMD_H
#define KFDSHIM_SCHEDULER_DAEMON_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct service_sockets {
	int daemon, metrics; /* listening sockets; -1: not passed */
};

/*
 * Takes the sockets that LISTEN_FDS passes: a SOCK_SEQPACKET socket for the daemon and a TCP
 * socket on loopback for the metrics, each at most once. The caller owns them.
 *
 * Returns 0, or a negative errno with one sentence in `problem`.
 */
int service_sockets(struct service_sockets *out, char *problem, size_t size);

/*
 * Reports the state of the worker to systemd; called in each iteration of the watchdog's loop.
 * `well`: process `worker` runs and its heartbeat is recent. Reports READY=1 the first time that
 * `well` is true, and each change of the state as STATUS=. While `well` is true, reports WATCHDOG=1
 * at a third of the interval that systemd requires, if it requires one.
 */
void service_check(pid_t worker, bool well, uint64_t now_ns);

/* Reports that the daemon is stopping. */
void service_stopping(void);

/* service_reloading() reports that the daemon is reading its configuration again,
 * service_reloaded() that it has finished. */
void service_reloading(void);
void service_reloaded(void);

/* Returns true if stderr is connected to systemd's journal (JOURNAL_STREAM). Log lines then
 * begin with their priority. */
bool service_has_journal(void);

#endif
