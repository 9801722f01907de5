// SPDX-License-Identifier: MIT
#include "scheduler/daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/wait.h"

/* as many as client slots (ADMISSION_SLOTS), because all clients may connect at once */
#define BACKLOG 1024
#define DYING_MS 5000

/* Creates the directory of the socket and locks it. Returns a descriptor of the directory, or a
 * negative errno. The lock lasts as long as the descriptor is open, so that of two daemons that
 * start at the same time the second one finds the socket of the first. */
static int lock_dir(const char *path)
{
	char copy[PATH_MAX];
	char *directory;
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	directory = dirname(copy);
	if (mkdir(directory, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	flock(fd, LOCK_EX);
	return fd;
}

/*
 * Returns a connection to the daemon that listens at `path`, or an error as protocol_connect(). A
 * single connect(2) is not enough: after a daemon was killed, its processes keep the socket open
 * until each of them has had CPU time to exit. So the function waits until the first connection is
 * hung up, and connects again. If the daemon was killed, the second attempt fails. If the daemon is
 * running, it hangs up after a second, because no packet was sent, and the second attempt succeeds.
 */
static int connect_to_daemon(const char *path)
{
	int fd = protocol_connect(path);

	if (fd < 0)
		return fd;
	poll_one_ns(fd, 0, wait_end_ms(DYING_MS));
	close(fd);
	return protocol_connect(path);
}

/* Removes a socket file that no daemon listens at. Returns 0 if the path is free now; otherwise a
 * negative errno with a sentence in `problem`. */
static int clear_path(const char *path, char *problem, size_t size)
{
	int fd = connect_to_daemon(path);

	if (fd >= 0 || fd == -EAGAIN) { /* -EAGAIN: the backlog of a running daemon is full */
		if (fd >= 0)
			close(fd);
		snprintf(problem, size,
			 "another daemon listens at %s: stop it, or choose another socket with "
			 "--socket",
			 path);
		return -EADDRINUSE;
	}
	if (fd == -ENOENT)
		return 0;
	if (fd == -ENOTSOCK) {
		snprintf(problem, size,
			 "%s exists and is not a socket of kfdschedd: choose another path with "
			 "--socket",
			 path);
		return -EEXIST;
	}
	if (fd == -ECONNREFUSED) {
		struct stat st;

		if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
			snprintf(problem, size,
				 "%s exists and is not a socket: choose another path with --socket",
				 path);
			return -EEXIST;
		}
		if (unlink(path) == 0)
			return 0;
		fd = -errno;
	}
	snprintf(problem, size, "cannot use the socket %s: %s", path, strerror(-fd));
	return fd;
}

static int bind_and_listen(const char *path, mode_t mode, struct listener *out)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct stat st;
	int error;
	int fd;

	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || chmod(path, mode) < 0 ||
	    stat(path, &st) < 0 || listen(fd, BACKLOG) < 0) {
		error = -errno;
		close(fd);
		return error;
	}
	*out = (struct listener){.fd = fd, .root_fd = -1, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

int listener_open(const char *path, struct listener *out, char *problem, size_t size)
{
	int directory;
	int error;

	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
		snprintf(problem, size, "the socket's path is too long: %s", path);
		return -ENAMETOOLONG;
	}
	directory = lock_dir(path);
	if (directory < 0) {
		snprintf(problem, size,
			 "cannot create the directory of the socket %s: %s; choose another path "
			 "with --socket",
			 path, strerror(-directory));
		return directory;
	}
	error = clear_path(path, problem, size);
	if (!error) {
		error = bind_and_listen(path, 0666, out);
		if (error)
			snprintf(problem, size, "cannot listen at %s: %s", path, strerror(-error));
	}
	close(directory);
	return error;
}

void listener_remove(const struct listener *listener, const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && st.st_dev == listener->dev && st.st_ino == listener->ino)
		unlink(path);
}

bool listener_path(int fd, const char *suffix, char *path, size_t size)
{
	struct sockaddr_un address = {0};
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0 || !address.sun_path[0])
		return false;
	return (size_t)snprintf(path, size, "%.*s%s", (int)sizeof(address.sun_path),
				address.sun_path, suffix) < size;
}

int listener_open_root(struct listener *out)
{
	struct listener root;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	mode_t mask;
	int error;

	out->root_fd = -1;
	if (!listener_path(out->fd, PROTOCOL_ROOT, path, sizeof(path)))
		return -ENAMETOOLONG;
	/* A file with this name is left over from an earlier daemon, because this daemon already
	 * owns the socket beside it. */
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	mask = umask(0177); /* so that other users cannot connect before chmod() */
	error = bind_and_listen(path, 0600, &root);
	umask(mask);
	if (!error)
		out->root_fd = root.fd;
	return error;
}

void listener_remove_root(const struct listener *listener)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	if (listener->root_fd >= 0 &&
	    listener_path(listener->fd, PROTOCOL_ROOT, path, sizeof(path)))
		unlink(path);
}
