/* SPDX-License-Identifier: MIT */
/*
 * The lock that ensures one worker for a socket, even across daemons.
 *
 * A killed worker can live on for seconds in a driver call that does not return, and its debug
 * sessions live as long. A watchdog that was killed cannot report that to its successor. So a
 * worker holds a lock on a file beside the socket (SOCKET.lock) until its last thread has ended,
 * and no watchdog starts a worker without the lock.
 *
 * Threads: the watchdog. No state.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOCK_H
#define KFDSHIM_SCHEDULER_DAEMON_LOCK_H

#include <stddef.h>

/* Writes the path of the lock file of the listening socket `listener` into `path`. Returns 0 or
 * a negative errno; -EINVAL if the socket has no name. */
int lock_path(int listener, char *path, size_t size);

/*
 * Opens and locks the file. The lock belongs to the open file description, so copies of the
 * descriptor made by fork() hold it, too. Does not wait.
 *
 * Returns a file descriptor that the caller owns, or
 *   -EWOULDBLOCK: another process holds the lock;
 *   another negative errno: the file cannot be opened.
 */
int lock_take(const char *path);

/* Removes the file, unless another process holds the lock. */
void lock_remove(const char *path);

#endif
