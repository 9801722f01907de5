/* SPDX-License-Identifier: MIT */
/* The tree of a simulation's own files (mounts.h). */
#ifndef KFDSHIM_SIM_SANDBOX_TREE_H
#define KFDSHIM_SIM_SANDBOX_TREE_H

#include <stddef.h>

#define TREE "/run/kfdsim" /* visible in the supervisor's namespace only */
#define HOST_RUN TREE "/host_run"

/* Create files of the tree. Paths are relative to TREE; missing directories are created.
 * tree_file(): a file with formatted text; tree_dir(): a directory; tree_bytes(): a file with
 * any bytes; tree_link(): a symbolic link. */
void tree_file(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tree_dir(const char *path);
void tree_bytes(const char *path, const void *bytes, size_t n);
void tree_link(const char *path, const char *target);
/* Returns a formatted path or target, valid until the fourth call after this one. */
const char *tree_name(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
