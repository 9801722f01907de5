/* SPDX-License-Identifier: MIT */
/* The files by which peers meet: the directory, one's own, those of others. */
#ifndef KFDSHIM_SHIM_PEERS_FILES_H
#define KFDSHIM_SHIM_PEERS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "channel/lane.h"
#include "shim/config.h"

/* What a reader needs of a lane: all before its queues, and more_nodes where those are used. */
#define PEERS_LANE_BYTES offsetof(struct lane, queues)
#define PEERS_NAME 48 /* "PID-START" with its end */

#define PEERS_NO_OWNER ((uid_t)-1)

struct peers_own {
	int folder, lane, socket;     /* -1: none */
	char path[CONFIG_FOLDER + 8]; /* of the folder */
	char name[PEERS_NAME];
	uid_t owner; /* of the folder; after an error: PEERS_NO_OWNER, or another user's */
};

/* Makes folder, lane (with what *lane says) and socket. 0, or a negative errno;
 * *why then says of what, in words; -ENOTSUP, this process can have no socket at
 * all, -EMFILE, -ENFILE. On failure nothing is left open; where another user has taken
 * the folder's name, own->owner is that user. */
int peers_own_open(struct peers_own *own, const struct lane *lane, const char **why);
/* Takes them away again, or for a fork child only lets go of them. */
void peers_own_close(struct peers_own *own, bool remove);
/* Takes the names away alone. Any thread. */
void peers_own_unlink(const struct peers_own *own);

/* Is this the name of a lane, "PID-START.lane"? Fills `name` without the end. */
bool peers_name(const char *file, char name[PEERS_NAME], pid_t *pid);

/* Opens the lane of a peer. Its fd, or -ESRCH: its process is dead (and its files
 * are removed now), -EXDEV: of another pid namespace, -EPROTO: not of our kind. */
int peers_open(const struct peers_own *own, const char *name, pid_t pid);
/* 0, or as peers_open. */
int peers_check(const struct peers_own *own, int fd, const char *name, pid_t pid);
/* Copies what it says, checked: every field within its range. One of the version before is one of
 * our kind. -EPROTO. */
int peers_read(int fd, struct lane *copy);
/* Where its datagrams go. false: too long a path. */
bool peers_address(const struct peers_own *own, const char *name, struct sockaddr_un *out);

#endif
