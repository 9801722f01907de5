/* SPDX-License-Identifier: MIT */
/* Files by which peers (shims of one user, peers.h) find each other: the directory, the files of
 * this process, and those of its peers. Threads: the sampler's, except peers_own_unlink(). */
#ifndef KFDSHIM_SHIM_LINKS_PEER_FILES_H
#define KFDSHIM_SHIM_LINKS_PEER_FILES_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#include "channel/client_shm.h"
#include "shim/config.h"

/* Number of bytes of a peer's file that are always read: all before `queues`. `more_nodes`, behind
 * it, is read only if the peer uses it. */
#define PEERS_SHM_BYTES offsetof(struct client_shm, queues)
#define PEERS_NAME 48 /* size of a peer's name "PID-START" with a suffix and the NUL */

#define PEERS_NO_OWNER ((uid_t)-1)

/* Files of this process. */
struct peers_own {
	int directory, shm, socket; /* file descriptors; -1: none */
	char path[CONFIG_DIR + 8];  /* path of the directory */
	/* "PID-START", without a suffix */
	char name[PEERS_NAME];
	/* The user that owns the directory, if that is another user and peers_own_open() has failed
	 * therefore; otherwise PEERS_NO_OWNER. */
	uid_t owner;
};

/*
 * Makes the directory, the socket, and the shared-memory file with the content of *shm.
 *
 * Returns 0, or a negative errno; then *why names what failed, for a message, and nothing is left
 * open. If another user owns the directory, own->owner is that user.
 * - -ENOTSUP: this process cannot have a socket at all.
 * - -EMFILE, -ENFILE: the limit of open files is reached.
 */
int peers_own_open(struct peers_own *own, const struct client_shm *shm, const char **why);
/* Closes the files. If @remove, also unlinks them: not in a fork child, because they are its
 * parent's. */
void peers_own_close(struct peers_own *own, bool remove);
/* Unlinks the files without closing them. Any thread. */
void peers_own_unlink(const struct peers_own *own);

/* Sets @name and *pid from a file name "PID-START.lane". Returns false if @file has another
 * form. */
bool peers_name(const char *file, char name[PEERS_NAME], pid_t *pid);

/*
 * Opens the shared-memory file of a peer for reading and checks it.
 *
 * Returns a file descriptor, which the caller owns, or a negative errno.
 * - -ESRCH: the peer's process is dead; the peer's files have been removed.
 * - -EXDEV: the peer's process lives in another PID namespace.
 * - -EPROTO: the file is not a regular file of this user with the size of a known version.
 */
int peers_open(const struct peers_own *own, const char *name, pid_t pid);
/* Checks whether the process that owns the open file @fd still lives. If it is dead, removes its
 * files. Returns 0, -ESRCH or -EXDEV as peers_open(), or another negative errno. */
int peers_check(const struct peers_own *own, int fd, const char *name, pid_t pid);
/* Reads the fields that peers use from the file @fd to *copy, and checks that each is within its
 * range. Accepts a file of the previous version, too. Returns 0, or -EPROTO. */
int peers_read(int fd, struct client_shm *copy);
/* Fills in the address of the socket of the peer @name. Returns false if the path is too long. */
bool peers_address(const struct peers_own *own, const char *name, struct sockaddr_un *out);

#endif
