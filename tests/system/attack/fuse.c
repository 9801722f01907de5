// SPDX-License-Identifier: MIT
#include "tests/system/attack/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channel/protocol.h"

#define REQUEST_BYTES (FUSE_MIN_READ_BUFFER + 65536)

/* ---- replies ---- */

static int device_fd;
static unsigned never_replied;
static uid_t owner;

static void reply(const struct fuse_in_header *in, int error, const void *body, size_t size)
{
	char packet[sizeof(struct fuse_out_header) + 256];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + size), .error = error, .unique = in->unique};

	memcpy(packet, &header, sizeof(header));
	if (size)
		memcpy(packet + sizeof(header), body, size);
	(void)!write(device_fd, packet, sizeof(header) + size);
}

static void reply_init(const struct fuse_in_header *in, const void *body)
{
	const struct fuse_init_in *theirs = body;
	struct fuse_init_out ours = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = 4096,
				     .max_background = 4096,
				     .congestion_threshold = 4096,
				     .max_write = 4096};

	if (theirs->minor < ours.minor)
		ours.minor = theirs->minor;
	reply(in, 0, &ours, sizeof(ours));
}

static void reply_attributes(const struct fuse_in_header *in)
{
	const struct fuse_attr_out attributes = {.attr_valid = 3600,
						 .attr = {.ino = FUSE_ROOT_ID,
							  .size = FUSE_FILE_BYTES,
							  .mode = S_IFREG | 0600,
							  .nlink = 1,
							  .uid = owner,
							  .gid = getegid(),
							  .blksize = 4096}};

	reply(in, 0, &attributes, sizeof(attributes));
}

/* Returns whether the request comes from the attacker itself, whose own calls must return. */
static bool is_ours(const struct fuse_in_header *in)
{
	return in->pid && getpgid((pid_t)in->pid) == getpgrp();
}

static void respond(const struct fuse_in_header *in, const void *body)
{
	const struct fuse_open_out opened = {.fh = 1};

	switch (in->opcode) {
	case FUSE_INIT:
		reply_init(in, body);
		break;
	case FUSE_GETATTR:
		reply_attributes(in);
		break;
	case FUSE_OPEN:
		reply(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_FLUSH:
		if (!(never_replied & FUSE_NEVER_FLUSH) || is_ours(in))
			reply(in, 0, NULL, 0);
		break;
	case FUSE_READ:
		if (!(never_replied & FUSE_NEVER_READ))
			reply(in, 0, NULL, 0);
		break;
	case FUSE_RELEASE:
		reply(in, 0, NULL, 0);
		break;
	case FUSE_INTERRUPT:
	case FUSE_FORGET:
		break;
	default:
		reply(in, -ENOSYS, NULL, 0);
	}
}

static void serve(void)
{
	static _Alignas(8) char packet[REQUEST_BYTES];
	const struct fuse_in_header *in = (const void *)packet;
	ssize_t n;

	for (;;) {
		n = read(device_fd, packet, sizeof(packet));
		if (n >= (ssize_t)sizeof(*in))
			respond(in, packet + sizeof(*in));
		else if (n >= 0 || (errno != EINTR && errno != ENOENT && errno != EAGAIN))
			_exit(0); /* the file system was unmounted */
	}
}

/* ---- mounting ---- */

static int failed(const char *what)
{
	int error = -errno;

	fprintf(stderr, "attacker: no FUSE file: %s: %s\n", what, strerror(-error));
	return error;
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written ? 0 : failed(path);
}

/* Enters a user and a mount namespace in which this user keeps its uid and gid. */
static int enter_namespaces(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];
	int error;

	/* otherwise /proc/self belongs to root after a change of user */
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return failed("a user and mount namespace");
	error = write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (!error)
		error = write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return error ? error : write_text("/proc/self/gid_map", map);
}

/* Mounts over the device node, which nothing else needs in this namespace. */
static int mount_file(const char *device)
{
	char options[128];
	int error = enter_namespaces();

	if (error)
		return error;
	device_fd = open(device, O_RDWR | O_CLOEXEC);
	if (device_fd < 0)
		return failed(device);
	snprintf(options, sizeof(options), "fd=%d,rootmode=%o,user_id=%u,group_id=%u", device_fd,
		 S_IFREG | 0600u, (unsigned)geteuid(), (unsigned)getegid());
	if (mount("kfdshim-test", device, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		return failed("mount");
	return 0;
}

/* ---- open files for the client ---- */

static int open_file(const char *path)
{
	struct stat st;
	int fd;

	/* The kernel learns size and owner of the file by stat(). */
	if (stat(path, &st) != 0)
		return -errno;
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void hand_out(int requests, const char *path)
{
	char any;

	while (recv(requests, &any, 1, 0) == 1) {
		int fd = open_file(path), error;

		error = protocol_send(requests, &fd, sizeof(fd), &fd, fd >= 0 ? 1 : 0);
		if (error) /* too many descriptors are in flight, so the kernel refuses this one */
			protocol_send(requests, &error, sizeof(error), NULL, 0);
		if (fd >= 0)
			close(fd);
	}
}

/* Runs in a process of its own, which forks the server process. */
static void run(int requests, const char *device)
{
	int error = mount_file(device);
	pid_t server;

	if (!error) {
		server = fork();
		if (server == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(requests);
			serve();
		}
		close(device_fd); /* so that the end of the server is the end of the file system */
		error = server < 0 ? -errno : 0;
	}
	protocol_send(requests, &error, sizeof(error), NULL, 0);
	if (!error)
		hand_out(requests, device);
	_exit(0);
}

int fuse_start(struct fuse *fuse, const char *device, unsigned never)
{
	int ends[2], error = 0;
	pid_t pid;

	never_replied = never;
	owner = geteuid();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		run(ends[1], device);
	}
	close(ends[1]);
	fuse->requests = ends[0];
	if (pid < 0 || protocol_receive(ends[0], &error, sizeof(error), NULL, NULL, 10000) != 0)
		return -ECHILD;
	return error;
}

int fuse_file(struct fuse *fuse)
{
	const char any = 0;
	size_t room = 1;
	int fd = -1, opened, error;

	if (send(fuse->requests, &any, 1, MSG_NOSIGNAL) != 1)
		return -errno;
	error = protocol_receive(fuse->requests, &opened, sizeof(opened), &fd, &room, 10000);
	if (error)
		return error;
	return room == 1 ? fd : opened;
}
