/* SPDX-License-Identifier: MIT */
/* Who is at the other end of a socket: what the kernel says, never the peer. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_PEER_H
#define KFDSHIM_SCHEDULER_DAEMON_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peer {
	pid_t pid; /* in our pid namespace */
	int pidfd; /* the owner of the struct closes it */
	uid_t uid;
	uint64_t pid_ns, user_ns; /* inode numbers */
	uint64_t image;		  /* changes with exec; 0: not to be seen */
};

/*
 * By SO_PEERPIDFD, before Linux 6.5 by SO_PEERCRED, pidfd_open and a start
 * time that must lie before `accepted_ns` (CLOCK_MONOTONIC). -ESRCH: it is
 * gone, or not in our pid namespace; -EACCES: its namespaces are hidden from
 * us, so nobody can say whose tenant it is.
 */
int peer_identify(int socket, uint64_t accepted_ns, struct peer *out);

bool peer_ended(const struct peer *peer);
/* It is another program now: an exec happened since peer_identify(). */
bool peer_replaced(const struct peer *peer);
/* The name of its lead thread, in characters that may stand anywhere. */
void peer_name(pid_t pid, char name[static 16]);

#endif
