// SPDX-License-Identifier: MIT
#include "scheduler/daemon/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/plain_text.h"
#include "common/proc_namespace.h"
#include "common/proc_stat.h"

#ifndef NS_GET_TGID_FROM_PIDNS /* Linux 6.12 */
#define NS_GET_TGID_FROM_PIDNS _IOR(NSIO, 0x7, int)
#endif
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

bool peer_ended(const struct peer *peer)
{
	struct pollfd p = {.fd = peer->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

bool peer_in_group(const struct peer *peer, gid_t group)
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

bool peer_replaced(const struct peer *peer)
{
	struct proc_stat seen;

	proc_stat(peer->pid, &seen); /* 0: it is ending */
	return peer->image && seen.stack && seen.stack != peer->image;
}

void peer_name(pid_t pid, char name[static 16])
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(name, 1, 15, f);
		fclose(f);
	}
	if (n && name[n - 1] == '\n')
		n--;
	name[n] = '\0';
	plain_ascii(name);
}

static pid_t pid_of_pidfd(int pidfd)
{
	char path[64], line[128];
	int pid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	f = fopen(path, "re");
	while (f && pid < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pid: %d", &pid) != 1)
			pid = -1;
	if (f)
		fclose(f);
	return pid;
}

pid_t peer_translate(const struct peer *peer, pid_t pid)
{
	char path[64];
	int fd, found, error;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)peer->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	found = ioctl(fd, NS_GET_TGID_FROM_PIDNS, pid);
	error = errno;
	close(fd);
	/* The namespace was that of the peer if it has not ended. */
	if (found > 0)
		return peer_ended(peer) ? -ESRCH : found;
	return found < 0 && error != EINVAL ? -error : -ENOTTY;
}

/* The pid may be another process' by now: that one started later than the
 * connection was made. */
static bool started_before(pid_t pid, uint64_t monotonic_ns)
{
	struct timespec boot, mono;
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t start = peer_started(pid);
	int64_t offset;

	if (start == 0 || ticks == 0)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	offset = (boot.tv_sec - mono.tv_sec) * 1000000000ll + (boot.tv_nsec - mono.tv_nsec);
	return start * (1000000000u / ticks) <= monotonic_ns + (uint64_t)offset;
}

struct identity {
	uid_t uid;     /* the effective one, which is what a connection tells, too */
	pid_t own_pid; /* the last of its numbers; 0: the kernel tells none */
};

/* -ESRCH: it is gone. */
static int read_identity(pid_t pid, struct identity *out)
{
	char path[64], line[256];
	unsigned effective = 0;
	int error = -ESRCH;
	FILE *f;

	*out = (struct identity){0};
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %*u %u", &effective) == 1)
			error = 0;
		if (strncmp(line, "NSpid:", 6) == 0)
			out->own_pid = (pid_t)atoi(strrchr(line, '\t') ? strrchr(line, '\t') : "");
	}
	if (f)
		fclose(f);
	out->uid = effective;
	return error;
}

static int open_pidfd(int socket, const struct ucred *cred, uint64_t accepted_ns, struct peer *out)
{
	socklen_t size = sizeof(out->pidfd);
	struct identity found;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &out->pidfd, &size) == 0) {
		out->pid = pid_of_pidfd(out->pidfd);
		if (out->pid > 0)
			return 0;
		close(out->pidfd);
		return -ESRCH;
	}
	/* EINVAL, in newer kernels ESRCH: it has been waited for already. Its number may be
	 * another process's now, which it would be taken for below. */
	if (errno != ENOPROTOOPT)
		return errno == EINVAL || errno == ENODATA ? -ESRCH : -errno;
	if (cred->pid <= 0)
		return -ESRCH;
	out->pid = cred->pid;
	out->pidfd = (int)syscall(SYS_pidfd_open, out->pid, 0);
	if (out->pidfd < 0)
		return -errno;
	/* A start time has the resolution of a clock tick, so the number may have been used
	 * again within it: a process of another user is never the client. */
	if (started_before(out->pid, accepted_ns) && read_identity(out->pid, &found) == 0 &&
	    found.uid == cred->uid)
		return 0;
	close(out->pidfd);
	return -ESRCH;
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

static void read_groups(int socket, gid_t primary, struct peer *out)
{
	socklen_t size = sizeof(out->groups) - sizeof(*out->groups);

	out->groups[0] = primary;
	out->group_count = 1;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, out->groups + 1, &size) == 0)
		out->group_count += (uint32_t)(size / sizeof(*out->groups));
}

/* By number: what else there is to know. Its pidfd is there; closed on failure. */
static int describe(struct peer *out)
{
	struct identity identity;
	int error = namespace_of(out->pid, "pid", &out->pid_ns);
	struct proc_stat seen;

	if (!error)
		error = namespace_of(out->pid, "user", &out->user_ns);
	proc_stat(out->pid, &seen);
	out->image = seen.stack;
	out->started = seen.started;
	read_identity(out->pid, &identity);
	out->own_pid = identity.own_pid;
	/* All that was read by pid was its own if it still lives. */
	if (!error && peer_ended(out))
		error = -ESRCH;
	if (error) {
		close(out->pidfd);
		out->pidfd = -1;
	}
	return error;
}

int peer_identify(int socket, uint64_t accepted_ns, struct peer *out)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	int error;

	*out = (struct peer){.pidfd = -1};
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return -errno;
	out->uid = cred.uid;
	read_groups(socket, cred.gid, out);
	error = open_pidfd(socket, &cred, accepted_ns, out);
	if (error)
		return error;
	return describe(out);
}

int peer_open(pid_t pid, struct peer *out)
{
	struct identity identity;
	int error;

	*out = (struct peer){.pid = pid};
	out->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (out->pidfd < 0)
		return -errno;
	error = read_identity(pid, &identity);
	out->uid = identity.uid;
	if (error) {
		close(out->pidfd);
		out->pidfd = -1;
		return error;
	}
	return describe(out);
}
