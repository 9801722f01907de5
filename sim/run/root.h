/* SPDX-License-Identifier: MIT */
/*
 * --root: the world's own /proc, /sys, /dev and /run over the folder of another
 * system. The new root is a tmpfs in which the folder's entries are bound, so
 * that nothing is made in the folder itself; the working folder and the one that
 * holds kfdsim are bound there at the same paths.
 */
#ifndef KFDSHIM_SIM_RUN_ROOT_H
#define KFDSHIM_SIM_RUN_ROOT_H

#include <limits.h>
#include <stdbool.h>

struct root {
	char folder[PATH_MAX]; /* absolute; empty: no other root */
	char cwd[PATH_MAX];    /* absolute */
	char programs[PATH_MAX];
};

/* All return an exit status, having said why (say.h). */

/* Finds out the three; `folder` NULL: none. Before anything is mounted. */
int root_find(struct root *root, const char *folder);
/* In the world's mount namespace, while the tree (mounts.h) is still to be seen
 * and all but /run is in its place: builds the new root. *fd: its top folder. */
int root_build(const struct root *root, bool virtual_time, int *fd);
/* Once /run is in its place too: changes root. */
int root_enter(int fd);

#endif
