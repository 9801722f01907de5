/* SPDX-License-Identifier: MIT */
/*
 * --root: runs the simulation's own /proc, /sys, /dev and /run on top of another system's
 * directory. The new root is a tmpfs into which the entries of that directory are bind-mounted, so
 * that nothing is created in the directory itself. The working directory and the directory of the
 * kfdsim executable are bind-mounted at their own paths.
 */
#ifndef KFDSHIM_SIM_SANDBOX_ROOT_H
#define KFDSHIM_SIM_SANDBOX_ROOT_H

#include <limits.h>
#include <stdbool.h>

struct root {
	char directory[PATH_MAX]; /* absolute; empty: no other root */
	char cwd[PATH_MAX];	  /* absolute */
	char programs[PATH_MAX];
};

/* Fills *root. `directory`: the new root, NULL: none. Called before anything is mounted. */
void root_find(struct root *root, const char *directory);
/* Builds the new root. Called in the simulation's mount namespace, while the tree (mounts.h)
 * is still visible and everything except /run is in place. Returns the new root directory, owned
 * by the caller. */
int root_build(const struct root *root, bool virtual_time);
/* Changes the root directory and closes fd. Called when /run is in place, too. */
void root_enter(int fd);

#endif
