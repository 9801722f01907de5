/* SPDX-License-Identifier: MIT */
/*
 * What the daemon has to do with systemd (sd-daemon.h): sockets that it passes, and
 * what it is told. Without systemd nothing of this does anything.
 *
 * For main and the watchdog.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_SERVICE_H
#define KFDSHIM_SCHEDULER_DAEMON_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct service_sockets {
	int daemon, metrics; /* listening; -1: not passed */
};

/* What LISTEN_FDS passes: a SOCK_SEQPACKET socket, and a TCP socket of loopback for the
 * metrics, each at most once. 0, or a negative errno and one sentence in `problem`. */
int service_sockets(struct service_sockets *out, char *problem, size_t size);

/* At every look of the watchdog: is all well, by this worker? The
 * first time that it is the service is ready; while it is systemd's watchdog is told in
 * time, if it wants to be. */
void service_look(pid_t worker, bool well, uint64_t now_ns);
void service_stopping(void);
/* The configuration is being read; and it has been. */
void service_reloading(void);
void service_reloaded(void);
/* Is stderr the journal's? Lines then begin with their priority. */
bool service_has_journal(void);

#endif
