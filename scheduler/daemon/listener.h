/* SPDX-License-Identifier: MIT */
/*
 * The socket files of the daemon. At most one daemon listens at a path.
 *
 * Threads: main() and the watchdog, before and after the other processes run.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LISTENER_H
#define KFDSHIM_SCHEDULER_DAEMON_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The listening sockets. The caller owns both descriptors. */
struct listener {
	int fd;	     /* listening socket for all users */
	int root_fd; /* PROTOCOL_ROOT: for root and the daemon's own user; -1: none */
	dev_t dev;   /* device of the socket file, so that only our own file is removed */
	/* inode of the socket file; 0: passed by systemd, so there is no file to remove */
	ino_t ino;
};

/*
 * Listens at `path`, to which any local user can connect. Creates the directory if it does not
 * exist, and replaces a socket file without a listener.
 *
 * Returns 0, or a negative errno with one sentence in `problem`; -EADDRINUSE: another daemon
 * listens there.
 */
int listener_open(const char *path, struct listener *out, char *problem, size_t size);

/* Removes the socket file at `path`, but only if it is the one that listener_open() has created. */
void listener_remove(const struct listener *listener, const char *path);

/*
 * Creates the socket for root beside the socket file of out->fd, and listens at it. It does not
 * matter whether listener_open() has opened out->fd or systemd has passed it. The daemon can run
 * without the socket for root.
 *
 * Returns 0, or a negative errno with out->root_fd -1.
 */
int listener_open_root(struct listener *out);

/* Writes the path of the listening socket `fd`, with `suffix` appended, to `path`. Returns false if
 * the socket has no path, or if the result does not fit. */
bool listener_path(int fd, const char *suffix, char *path, size_t size);

/* Removes the file of the socket for root, if there is one. */
void listener_remove_root(const struct listener *listener);

#endif
