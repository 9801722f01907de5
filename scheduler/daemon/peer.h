/* SPDX-License-Identifier: MIT */
/* Who is at the other end of a socket: what the kernel says, never the peer. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_PEER_H
#define KFDSHIM_SCHEDULER_DAEMON_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PEER_GROUPS 64u

struct peer {
	pid_t pid;	  /* in our pid namespace */
	pid_t own_pid;	  /* in its own; 0: not to be seen */
	int pidfd;	  /* the owner of the struct closes it */
	uint64_t started; /* clock ticks since boot: with the pid it names one process */
	uid_t uid;
	uint32_t group_count;
	gid_t groups[PEER_GROUPS]; /* the first is its primary one; of more than fit none
				      but that */
	uint64_t pid_ns, user_ns;  /* inode numbers */
	uint64_t image;		   /* changes with exec; 0: not to be seen */
	bool by_number;		   /* the kernel gave its number, and no pidfd of it */
};

/* What /proc says of the process that has a number. */
struct peer_facts {
	pid_t own_pid;
	uid_t uid;
	uint64_t started, pid_ns, user_ns, image; /* as above */
};

/* Reads it. 0; -ESRCH: it is gone; -EACCES: its namespaces are hidden from us. It may wait for
 * as long as the process likes, so the worker passes another function to the ones below, which
 * may fail with -EAGAIN and -EINPROGRESS as well (reader.h). */
int peer_read(pid_t pid, struct peer_facts *out);
typedef int peer_reader(pid_t pid, struct peer_facts *out);

/*
 * By SO_PEERPIDFD, before Linux 6.5 by SO_PEERCRED, pidfd_open, a start time that
 * must lie before `accepted_ns` (CLOCK_MONOTONIC), and an effective uid that must be
 * that of the credentials (so there a process that changes its user between connect
 * and hello is refused). -ESRCH: it is gone, or not in our pid namespace; -EACCES: its
 * namespaces are hidden from us, so its tenant is not known; or what `read` failed with.
 * out->pidfd is -1 at first. After -EINPROGRESS it is open, and to be kept for the next call:
 * what is read by number is the process's own only if the pidfd is older.
 */
int peer_identify(int socket, uint64_t accepted_ns, peer_reader *read, struct peer *out);

/* The same of a process that is known by its number alone; it need not be connected. Also
 * what pidfd_open(2) failed with. */
int peer_open(pid_t pid, peer_reader *read, struct peer *out);

/* The same without a read: the facts were read when the pidfd, which is the caller's, was open.
 * *out has one of its own. */
int peer_of(pid_t pid, int pidfd, const struct peer_facts *facts, struct peer *out);

bool peer_ended(const struct peer *peer);
bool peer_in_group(const struct peer *peer, gid_t group);
/* 1: it is another program now, because an exec happened since peer_identify(); 0: it is not;
 * -EAGAIN and -EINPROGRESS as `read`. */
int peer_replaced(const struct peer *peer, peer_reader *read);
/* The process that has number `pid` in the PID namespace of process `of`, in our own. -ESRCH:
 * no process has, or it is not in ours; -ENOTTY: before Linux 6.12, the kernel translates no
 * numbers; -EACCES: we may not see the namespace. It may wait as peer_read() may. */
pid_t peer_read_number(pid_t of, pid_t pid);
/* As in struct peer; 0: there is no such process. It may wait, too. */
uint64_t peer_started(pid_t pid);
/* The effective one; -1: there is no such process. */
uid_t peer_uid(pid_t pid);
/* The state of its lead thread, as in its status, which can be read without a wait (the same in
 * stat cannot); '\0': there is no such process. */
char peer_state(pid_t pid);
/* Our own namespaces, as in struct peer. */
void peer_own_namespaces(uint64_t *pid_ns, uint64_t *user_ns);
/* The name of its lead thread, in characters that may stand anywhere. */
void peer_name(pid_t pid, char name[static 16]);

#endif
