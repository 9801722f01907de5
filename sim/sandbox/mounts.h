/* SPDX-License-Identifier: MIT */
/*
 * The file systems of a simulation. The supervisor works in a mount namespace of its own, where a
 * tmpfs covers /run and holds the tree: the files that the simulation has instead of, or in
 * addition to, the host's /dev, /sys and /run. All mounts are private to this namespace, so nothing
 * is left behind: the kernel removes them with the last process of the namespace.
 *
 * Order of the calls: mounts_enter(), mounts_tree(), topology_write() (profile.h),
 * mounts_devices() in the supervisor; mounts_sim() in the init process of the simulation.
 */
#ifndef KFDSHIM_SIM_SANDBOX_MOUNTS_H
#define KFDSHIM_SIM_SANDBOX_MOUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define TREE "/run/kfdsim" /* visible in the supervisor's namespace only */
#define HOST_RUN TREE "/host_run"
/* The sysfs directory of /dev/kfd, with the topology and simulation.json. */
#define TREE_KFD TREE "/sys/devices/virtual/kfd/kfd"
#define TREE_DEBUGFS TREE "/sys/kernel/debug" /* accessible to root only, as on hardware */
#define SIMULATION_JSON "/sys/class/kfd/kfd/simulation.json"

struct tree {
	int kfd;       /* file that stands for /dev/kfd */
	int render;    /* /dev/dri/renderD128, 129, ...: links to one file */
	int modules;   /* file with the text of /proc/modules if the host has none; else -1 */
	int kfd_sysfs; /* directory TREE_KFD */
	int debugfs;   /* directory TREE_DEBUGFS "/kfd" */
	int time_page; /* file TIME_PAGE; -1: the simulation runs in real time */
};

/* ---- files of the tree, in mounts.c ----
 * Create files of the tree. Paths are relative to TREE; missing directories are created.
 * tree_file(): a file with formatted text; tree_dir(): a directory; tree_bytes(): a file with
 * any bytes; tree_link(): a symbolic link. */
void tree_file(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tree_dir(const char *path);
void tree_bytes(const char *path, const void *bytes, size_t n);
void tree_link(const char *path, const char *target);
/* Returns a formatted path or target, valid until the fourth call after this one. */
const char *tree_name(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- root.c: --root ----
 * Runs the simulation's own /proc, /sys, /dev and /run on top of another system's directory. The
 * new root is a tmpfs into which the entries of that directory are bind-mounted, so that nothing is
 * created in the directory itself. The working directory and the directory of the kfdsim executable
 * are bind-mounted at their own paths. */
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
/* Changes the root directory and closes fd. Called after /run has been put in place as well. */
void root_enter(int fd);

/* ---- two directories shown as one, without overlayfs: user namespaces cannot use overlayfs for
 * sysfs, and overlayfs would hide later changes of the host's directory ---- */
/*
 * Makes every entry of the directory `real` visible in the directory `fake`, unless `fake` has an
 * entry of that name: directories and files by recursive bind mounts, symbolic links by links with
 * the same text. If both have a directory of that name, its entries are merged, except for the
 * directories of `fake` that are listed in `opaque` (a NULL-terminated list of paths). Entries that
 * have disappeared in the meantime or that the caller cannot access are left out.
 */
void merge(const char *real, const char *fake, const char *const *opaque);

/* ---- mounts.c ---- */
/* Creates the private mount namespace. Without the privilege to do so, creates it inside a new user
 * namespace that maps only the caller. Must be called before any thread is started (unshare(2)). */
void mounts_enter(void);
/* Mounts the tmpfs and creates the empty tree. */
void mounts_tree(void);
/* Opens the time library, which is in the directory of the kfdsim executable. Called before
 * mounts_enter(). */
int mounts_open_library(void);
/* Creates the device files and the list of modules, and opens the files of *tree except time_page.
 * Called after sysfs was written. */
void mounts_devices(struct tree *tree, unsigned nodes);
/* Creates the time library, the page that it maps, and /etc/ld.so.preload, which makes the dynamic
 * linker load it. @library: from mounts_open_library(). */
void mounts_time(struct tree *tree, int library);
/* In the mount and PID namespaces of the calling process: puts the tree (the simulation's own
 * files) in place, with the host's files visible wherever the tree has none. Changes the root
 * directory if requested, and returns to the working directory. */
void mounts_sim(const struct root *root, bool virtual_time);

#endif
