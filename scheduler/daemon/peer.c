// SPDX-License-Identifier: MIT
#include "scheduler/daemon/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/proc.h"
#include "common/wait.h"

#ifndef NS_GET_TGID_FROM_PIDNS /* since Linux 6.12 */
#define NS_GET_TGID_FROM_PIDNS _IOR(NSIO, 0x7, int)
#endif
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

bool peer_ended(const struct socket_peer *peer)
{
	return poll_now(peer->pidfd, POLLIN) != 0;
}

bool peer_in_group(const struct socket_peer *peer, gid_t group)
{
	for (uint32_t i = 0; i < peer->group_count; i++)
		if (peer->groups[i] == group)
			return true;
	return false;
}

uint64_t peer_started(pid_t pid)
{
	struct proc_stat seen;

	proc_stat(pid, &seen);
	return seen.started;
}

int peer_replaced(const struct socket_peer *peer, peer_reader *read)
{
	struct peer_facts now;

	int error = read(peer->pid, &now);

	if (error == -EAGAIN || error == -EINPROGRESS)
		return error;
	/* 0: the process is ending */
	return peer->image && now.image && now.image != peer->image;
}

void peer_name(pid_t pid, char name[static 16])
{
	proc_comm(pid, name);
}

static pid_t pid_of_pidfd(int pidfd)
{
	char name[32], text[512];
	const char *at = NULL;

	/* pid 0: read /proc/self, because /proc can be of another PID namespace */
	snprintf(name, sizeof(name), "fdinfo/%d", pidfd);
	if (proc_read(0, name, text, sizeof(text)) > 0)
		at = proc_status_field(text, "\nPid:");
	return at ? atoi(at) : -1;
}

pid_t peer_read_number(pid_t of, pid_t pid)
{
	char path[64];
	int fd, found, error;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)of);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	found = ioctl(fd, NS_GET_TGID_FROM_PIDNS, pid);
	error = errno;
	close(fd);
	if (found > 0)
		return found;
	return found < 0 && error != EINVAL ? -error : -ENOTTY;
}

/* Returns true if the process with start time `start` (clock ticks since boot) started before the
 * connection was made at `monotonic_ns`. Otherwise its pid was reused. */
static bool started_before(uint64_t start, uint64_t monotonic_ns)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t offset;

	if (start == 0 || ticks == 0)
		return false;
	offset = clock_of(CLOCK_BOOTTIME) - clock_ns();
	return start * (1000000000u / ticks) <= monotonic_ns + offset;
}

char peer_state(pid_t pid)
{
	char status[PROC_STATUS_BYTES];
	const char *at = NULL;

	if (proc_status_read(pid, status, sizeof(status)) == 0)
		at = proc_status_field(status, "\nState:\t");
	return at ? *at : '\0';
}

/* Reads into *out the effective uid of a process, which is also the uid of its connections, and its
 * pid in its own PID namespace (the last number of NSpid). Returns 0, or -ESRCH if the process is
 * gone. */
static int read_identity(pid_t pid, struct peer_facts *out)
{
	char status[PROC_STATUS_BYTES];
	pid_t pids[PROC_NS_LEVELS_MAX];
	unsigned effective = 0, n;
	const char *at;

	if (proc_status_read(pid, status, sizeof(status)))
		return -ESRCH;
	at = proc_status_field(status, "\nUid:");
	if (!at || sscanf(at, "%*u %u", &effective) != 1)
		return -ESRCH;
	n = proc_status_ns_pids(status, pids);
	if (n)
		out->own_pid = pids[n - 1];
	out->uid = effective;
	return 0;
}

uid_t peer_uid(pid_t pid)
{
	struct peer_facts its = {0};

	return read_identity(pid, &its) == 0 ? its.uid : (uid_t)-1;
}

static int open_pidfd(int socket, pid_t number, struct socket_peer *out)
{
	socklen_t size = sizeof(out->pidfd);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &out->pidfd, &size) == 0) {
		out->pid = pid_of_pidfd(out->pidfd);
		if (out->pid > 0)
			return 0;
		close(out->pidfd);
		out->pidfd = -1;
		return -ESRCH;
	}
	/* EINVAL, in newer kernels ESRCH: the process has been reaped already. Its pid may belong
	 * to another process now, so the fallback by pid below must not be used. */
	if (errno != ENOPROTOOPT)
		return errno == EINVAL || errno == ENODATA ? -ESRCH : -errno;
	out->by_number = true;
	if (number <= 0)
		return -ESRCH;
	out->pid = number;
	out->pidfd = (int)syscall(SYS_pidfd_open, out->pid, 0);
	return out->pidfd < 0 ? -errno : 0;
}

static int namespace_of(pid_t pid, const char *kind, uint64_t *inode)
{
	*inode = proc_namespace(pid, kind);
	if (*inode)
		return 0;
	return errno == ENOENT ? -ESRCH : -EACCES;
}

void peer_own_namespaces(uint64_t *pid_ns, uint64_t *user_ns)
{
	*pid_ns = proc_namespace(0, "pid");
	*user_ns = proc_namespace(0, "user");
}

static void read_groups(int socket, gid_t primary, struct socket_peer *out)
{
	socklen_t size = sizeof(out->groups) - sizeof(*out->groups);

	out->groups[0] = primary;
	out->group_count = 1;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, out->groups + 1, &size) == 0)
		out->group_count += (uint32_t)(size / sizeof(*out->groups));
}

int peer_read(pid_t pid, struct peer_facts *out)
{
	struct proc_stat seen;
	int error;

	*out = (struct peer_facts){0};
	proc_stat(pid, &seen);
	out->image = seen.stack;
	out->started = seen.started;
	error = read_identity(pid, out);
	if (!error)
		error = namespace_of(pid, "pid", &out->pid_ns);
	if (!error)
		error = namespace_of(pid, "user", &out->user_ns);
	return error;
}

static void fill(struct socket_peer *out, const struct peer_facts *facts)
{
	out->pid_ns = facts->pid_ns;
	out->user_ns = facts->user_ns;
	out->image = facts->image;
	out->started = facts->started;
	out->own_pid = facts->own_pid;
}

/* Reads by pid the facts about a peer whose pidfd is open. Returns 0 or a negative errno. Closes
 * the pidfd on failure, except for -EINPROGRESS. */
static int describe(peer_reader *read, struct socket_peer *out, struct peer_facts *facts)
{
	int error = read(out->pid, facts);

	if (error == -EINPROGRESS)
		return error;
	fill(out, facts);
	/* If the process lives, its pid was not reused: the facts are about it. */
	if (!error && peer_ended(out))
		error = -ESRCH;
	if (error) {
		close(out->pidfd);
		out->pidfd = -1;
	}
	return error;
}

/* Reads the credentials of the peer of `socket` and opens its pidfd. Returns 0 or a negative
 * errno. */
static int find_peer(int socket, struct socket_peer *out)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	*out = (struct socket_peer){.pidfd = -1};
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return -errno;
	out->uid = cred.uid;
	read_groups(socket, cred.gid, out);
	return open_pidfd(socket, cred.pid, out);
}

int peer_identify(int socket, uint64_t accepted_ns, peer_reader *read, struct socket_peer *out)
{
	struct peer_facts facts;
	int error = out->pidfd < 0 ? find_peer(socket, out) : 0;

	if (!error)
		error = describe(read, out, &facts);
	/* The start time has the resolution of a clock tick, so started_before() misses a pid that
	 * was reused within that tick. The check of the uid ensures that at least a process of
	 * another user is never taken for the client. */
	if (error || !out->by_number ||
	    (started_before(facts.started, accepted_ns) && facts.uid == out->uid))
		return error;
	close(out->pidfd);
	out->pidfd = -1;
	return -ESRCH;
}

int peer_of(pid_t pid, int pidfd, const struct peer_facts *facts, struct socket_peer *out)
{
	*out = (struct socket_peer){.pid = pid, .uid = facts->uid};
	fill(out, facts);
	out->pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
	if (out->pidfd < 0)
		return -errno;
	if (!peer_ended(out))
		return 0;
	close(out->pidfd);
	return -ESRCH;
}
