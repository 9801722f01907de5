/* SPDX-License-Identifier: MIT */
/* The socket files of the daemon: one daemon for one path. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LISTENER_H
#define KFDSHIM_SCHEDULER_DAEMON_LISTENER_H

#include <stddef.h>
#include <sys/types.h>

struct listener {
	int fd;
	int root_fd; /* PROTOCOL_ROOT: for root and our own user alone; -1: there is none */
	dev_t dev;   /* of the file, to remove none but our own */
	ino_t ino;   /* 0: passed by systemd, so nothing to remove */
};

/*
 * Makes the folder if need be, replaces a socket that nobody listens to, and
 * listens; any local user may connect. A negative errno and one sentence in
 * `problem`; -EADDRINUSE: a daemon answers there.
 */
int listener_open(const char *path, struct listener *out, char *problem, size_t size);
void listener_remove(const struct listener *listener, const char *path);

/*
 * Listens at root's own socket beside the one at out->fd, wherever that came from. The
 * daemon can do without: a negative errno, and out->root_fd is -1. Its file is removed by
 * listener_remove_root().
 */
int listener_open_root(struct listener *out);
void listener_remove_root(const struct listener *listener);

#endif
