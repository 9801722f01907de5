/* SPDX-License-Identifier: MIT */
/*
 * Reads files that a process of another user has chosen: behind its fds, its program, in its root
 * directory. Opening such a file can have an effect (a device), can block until there is a writer
 * (a pipe), or can block for ever because of a process of that user (FUSE). So the file is opened
 * with O_PATH first, which has no such effect, then checked, and opened for reading only if it is a
 * regular file on a file system that is not served by a user's process.
 *
 * Threads: any, but only one for each struct proc_files. The functions return an fd (close-on-exec,
 * owned by the caller) or 0, or a negative errno:
 *  -EINVAL: not a regular file; -EXDEV: on a file system that is not trusted, or not known.
 */
#ifndef KFDSHIM_COMMON_PROC_FILE_H
#define KFDSHIM_COMMON_PROC_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* State for reading several files of one process. The last mount that was found to be trusted is
 * cached, with an fd on it so that its number is not reused. */
struct proc_files {
	pid_t pid;
	int pin;	/* fd on the cached mount; -1: none */
	uint64_t mount; /* number of that mount */
	/* number of searches in lists of mounts up to now; limited by LOOKUPS_MAX */
	unsigned lookups;
};

/* Initialises the state; the caller has to call proc_files_end(). */
void proc_files_begin(struct proc_files *files, pid_t pid);
/* Releases the state. */
void proc_files_end(struct proc_files *files);

/* Opens the file behind the link `name` in `directory`, which is /proc/PID or /proc/PID/fd. */
int proc_files_open(struct proc_files *files, int directory, const char *name);
/* Opens the file with this absolute path in the process's root directory. Does not follow links:
 * returns -ELOOP if the file is one, -ENOTDIR if a directory in the path is one. */
int proc_files_open_path(struct proc_files *files, const char *path);
/* Returns 0 if there is a file with this path in the process's root directory, -ENOENT if there is
 * none, or another negative errno if the path cannot be searched. */
int proc_files_find(struct proc_files *files, const char *path);

/* Opens the regular file `name` in a directory that the user of this program has chosen, on any
 * file system. Does not open links (-ELOOP), pipes and devices (-EINVAL). */
int plain_file_open(int directory, const char *name);

/* Calls statx(2) for the attributes that the kernel has cached, without asking a file server. */
int proc_file_stat(int directory, const char *name, struct statx *out);

#endif
