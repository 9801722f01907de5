/* SPDX-License-Identifier: MIT */
/* Files by which peers find each other (peers.h): the directory, the files of this process, and
 * those of its peers. Threads: the sampler's, except peers_own_unlink(). */
#ifndef KFDSHIM_SHIM_LINKS_PEER_FILES_H
#define KFDSHIM_SHIM_LINKS_PEER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#include "channel/client_shm.h"
#include "shim/config.h"

/* Bytes of a peer's file that are always read: all before the queues. more_nodes is read if
 * used. */
#define PEERS_SHM_BYTES offsetof(struct client_shm, queues)
#define PEERS_NAME 48 /* "PID-START" and a suffix, in bytes with the NUL */

#define PEERS_NO_OWNER ((uid_t)-1)

/* Files of this process. */
struct peers_own {
	int directory, shm, socket; /* file descriptors; -1: none */
	char path[CONFIG_DIR + 8];  /* path of the directory */
	/* "PID-START", without a suffix */
	char name[PEERS_NAME];
	/* Owner of the directory. After an error: another user that has taken the name, or
	 * PEERS_NO_OWNER. */
	uid_t owner;
};

/*
 * Makes the directory, the socket, and the shared-memory file with the content of *shm.
 *
 * Returns 0, or a negative errno; *why is then a phrase for the object that failed, and nothing is
 * left open. If another user owns the directory's name, own->owner is that user.
 * - -ENOTSUP: this process cannot have a socket at all.
 * - -EMFILE, -ENFILE: the limit of open files is reached.
 */
int peers_own_open(struct peers_own *own, const struct client_shm *shm, const char **why);
/* Closes the files. @remove also unlinks them; a fork child must not do that, because they are its
 * parent's. */
void peers_own_close(struct peers_own *own, bool remove);
/* Unlinks the files without closing them. Any thread. */
void peers_own_unlink(const struct peers_own *own);

/* Returns true if @file is "PID-START.lane". Fills @name (without the suffix) and *pid. */
bool peers_name(const char *file, char name[PEERS_NAME], pid_t *pid);

/*
 * Opens the shared-memory file of a peer for reading and checks it.
 *
 * Returns its file descriptor, which is the caller's, or a negative errno.
 * - -ESRCH: its process is dead; its files have been removed.
 * - -EXDEV: its process lives in another pid namespace.
 * - -EPROTO: it is not a regular file of this user with the size of a version that is known.
 */
int peers_open(const struct peers_own *own, const char *name, pid_t pid);
/* Checks whether the process of an open file still lives. Removes the files of a process that is
 * dead.
 * Returns 0, -ESRCH or -EXDEV as peers_open(), or another negative errno. */
int peers_check(const struct peers_own *own, int fd, const char *name, pid_t pid);
/* Copies the fields that peers use, and checks that every field is within its range. A file of the
 * previous version is accepted.
 * Returns 0, or -EPROTO. */
int peers_read(int fd, struct client_shm *copy);
/* Fills the address of the socket of a peer.
 * Returns false if the path is too long. */
bool peers_address(const struct peers_own *own, const char *name, struct sockaddr_un *out);

#endif
