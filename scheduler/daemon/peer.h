/* SPDX-License-Identifier: MIT */
/*
 * Identity of the process at the other end of a socket, or with a given pid, as the kernel reports
 * it. No information comes from the process itself.
 *
 * Threads: any; no state.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_PEER_H
#define KFDSHIM_SCHEDULER_DAEMON_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PEER_GROUPS 64u

struct socket_peer {
	pid_t pid;     /* in the PID namespace of the daemon */
	pid_t own_pid; /* in its own PID namespace; 0: unknown */
	int pidfd;     /* closed by the owner of the struct */
	/* start time, clock ticks since boot: pid and start time together identify one process */
	uint64_t started;
	uid_t uid; /* effective */
	uint32_t group_count;
	/* The first is the primary group. If there are more groups than fit, only the primary
	 * group is stored. */
	gid_t groups[PEER_GROUPS];
	uint64_t pid_ns, user_ns; /* inode numbers of its namespaces */
	uint64_t image;		  /* start of its stack, which changes with exec; 0: unknown */
	/* the process was identified by pid only, because the kernel has no SO_PEERPIDFD */
	bool by_number;
};

/* What /proc shows about the process that has a pid at the time of the read. */
struct peer_facts {
	pid_t own_pid;
	uid_t uid;
	uint64_t started, pid_ns, user_ns, image; /* as in struct socket_peer */
};

/*
 * Reads the facts about process `pid` into *out. Returns 0; -ESRCH: no such process; -EACCES: its
 * namespaces cannot be read.
 *
 * The call can block for as long as the process itself wants. So the worker does not use it: it
 * passes reader_facts() (reader.h) to the functions below, which does not block and can also fail
 * with -EAGAIN and -EINPROGRESS.
 */
int peer_read(pid_t pid, struct peer_facts *out);
typedef int peer_reader(pid_t pid, struct peer_facts *out);

/*
 * Identifies the peer of a socket: by SO_PEERPIDFD, or on kernels before Linux 6.5 by SO_PEERCRED
 * and pidfd_open(2). With SO_PEERCRED, the start time of the process must be before `accepted_ns`
 * (CLOCK_MONOTONIC), and its effective uid must be that of the credentials. So a process that
 * changes its user between connect and hello is refused.
 *
 * out->pidfd must be -1 at the first call. After -EINPROGRESS it is open, and *out must be passed
 * unchanged to the next call: what is read by pid belongs to the process only if the pidfd is older
 * than the read.
 *
 * Returns 0, and the caller owns out->pidfd, or
 *   -ESRCH: the process is gone, or not in the daemon's PID namespace;
 *   -EACCES: its namespaces cannot be read, so that its tenant is unknown;
 *   an error of `read`.
 */
int peer_identify(int socket, uint64_t accepted_ns, peer_reader *read, struct socket_peer *out);

/* Fills *out as peer_identify(), for a process that need not be connected. `facts` must have been
 * read while `pidfd` was open. The caller keeps `pidfd`; *out gets a copy of it. Returns 0; -ESRCH
 * if the process has ended; or the error of the copy. */
int peer_of(pid_t pid, int pidfd, const struct peer_facts *facts, struct socket_peer *out);

/* Returns true if the process has ended. */
bool peer_ended(const struct socket_peer *peer);

/* Returns true if `group` is one of the stored groups. */
bool peer_in_group(const struct socket_peer *peer, gid_t group);

/* Returns 1 if the process has executed another program (exec) since peer_identify(), 0 if not, or
 * -EAGAIN or -EINPROGRESS from `read`. */
int peer_replaced(const struct socket_peer *peer, peer_reader *read);

/*
 * Translates a pid: `pid` is a number in the PID namespace of process `of`. Returns the pid of that
 * process in the daemon's PID namespace. Can block as peer_read() can. Errors:
 *   -ESRCH: no such process, or not in the daemon's PID namespace;
 *   -ENOTTY: the kernel does not translate numbers (before Linux 6.12);
 *   -EACCES: the namespace cannot be read.
 */
pid_t peer_read_number(pid_t of, pid_t pid);

/* Returns the start time as in struct socket_peer; 0: no such process. Can block as peer_read(). */
uint64_t peer_started(pid_t pid);

/* Returns the effective uid of a process; (uid_t)-1: no such process. */
uid_t peer_uid(pid_t pid);

/* Returns the state of a process's lead thread (R, S, D, T, ...) from /proc/PID/status, which can
 * be read without blocking, unlike /proc/PID/stat; '\0': no such process. */
char peer_state(pid_t pid);

/* Stores the inode numbers of the daemon's own PID and user namespace. */
void peer_own_namespaces(uint64_t *pid_ns, uint64_t *user_ns);

/* Reads the name of a process's lead thread, reduced to printable ASCII; empty if there is no such
 * process. */
void peer_name(pid_t pid, char name[static 16]);

#endif
