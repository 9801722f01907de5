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

/* ---- two directories shown as one, without overlayfs: user namespaces cannot use overlayfs for
 * sysfs, and it would hide later changes of the lower tree ---- */
/*
 * Makes every entry of the directory `real` visible in the directory `fake`, unless `fake` has an
 * entry of that name: directories and files by recursive bind mounts, symbolic links by links with
 * the same text. If both have a directory of that name, its entries are merged, except for the
 * directories of `fake` that are listed in `opaque` (a NULL-terminated list of paths). Entries that
 * have disappeared in the meantime or that the caller cannot access are left out.
 */
void merge(const char *real, const char *fake, const char *const *opaque);

#endif
