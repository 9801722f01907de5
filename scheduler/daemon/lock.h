/* SPDX-License-Identifier: MIT */
/*
 * One worker for one socket, whoever started it. A worker that was killed may live on for
 * seconds, in a call that the driver does not end, and its debug sessions with it; and a
 * watchdog that was killed cannot tell its successor. So a worker has a lock on a file
 * beside the socket (SOCKET.lock) for as long as any thread of it lives, and nobody
 * starts one without it.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOCK_H
#define KFDSHIM_SCHEDULER_DAEMON_LOCK_H

#include <stddef.h>

/* Where it is for this listening socket. 0 or a negative errno: it has no name. */
int lock_path(int listener, char *path, size_t size);
/* A descriptor that has the lock, and whose copies have it, too (fork). Does not wait:
 * -EWOULDBLOCK somebody has it; or what opening the file failed with. */
int lock_take(const char *path);
/* Removes the file, unless somebody has the lock. */
void lock_remove(const char *path);

#endif
