/* SPDX-License-Identifier: MIT */
/*
 * The file systems of a world. The supervisor works in a mount namespace of
 * its own, where a tmpfs covers /run and holds the tree: what the world has
 * instead of, or beside, the host's /dev, /sys and /run. Nothing is mounted
 * where anybody else sees it, so nothing can be left behind: the kernel takes
 * it all down with the last process that is in the namespace.
 *
 * In the order of the calls: mounts_enter, mounts_tree, (topology_write),
 * mounts_devices in the supervisor; mounts_world in the world's init. All
 * return an exit status and have said why (say.h).
 */
#ifndef KFDSHIM_SIM_RUN_MOUNTS_H
#define KFDSHIM_SIM_RUN_MOUNTS_H

#include <stdbool.h>

#include "sim/kfd/world.h"
#include "sim/run/root.h"

#define TREE "/run/kfdsim" /* seen by the supervisor only */
#define HOST_RUN TREE "/host_run"
/* The folder of /dev/kfd in sysfs: topology and simulation.json. */
#define TREE_KFD TREE "/sys/devices/virtual/kfd/kfd"
#define TREE_DEBUGFS TREE "/sys/kernel/debug" /* for root alone, as on hardware */
#define SIMULATION_JSON "/sys/class/kfd/kfd/simulation.json"

struct tree {
	int kfd;       /* /dev/kfd */
	int render;    /* /dev/dri/renderD128, 129, ...: names of one file */
	int modules;   /* text for /proc/modules where the host has none; else -1 */
	int kfd_sysfs; /* TREE_KFD */
	int debugfs;   /* TREE_DEBUGFS "/kfd" */
	int time_page; /* TIME_PAGE; -1: the world runs in real time */
};

/* Makes the private mount namespace; without the right to, inside a user
 * namespace that maps only the caller. Must be called before any thread is
 * started (unshare(2)). */
int mounts_enter(void);
/* Mounts the tmpfs and makes the empty tree. */
int mounts_tree(void);
/* Before mounts_enter(): opens the time library, which stands beside kfdsim. */
int mounts_open_library(int *library);
/* The device files and the list of modules, once sysfs is written. */
int mounts_devices(struct tree *tree, unsigned nodes);
/* The time library, the page that it maps, and the file that names it to the dynamic linker.
 * @library: open, from mounts_open_library(). */
int mounts_time(struct tree *tree, int library);
/* In the mount and pid namespaces of the calling process: puts the tree in
 * place, with the host showing through wherever it has nothing of its own,
 * changes root if that is asked for, and goes back to the working folder. */
int mounts_world(const struct root *root, bool virtual_time);

/* Files of the tree; relative to TREE. Missing folders are made. */
int tree_file(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
int tree_folder(const char *path);
int tree_bytes(const char *path, const void *bytes, size_t n); /* the same of any bytes */
int tree_link(const char *path, const char *target);

#endif
