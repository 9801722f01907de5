/* SPDX-License-Identifier: MIT */
/*
 * Files that another user's process chooses: behind its descriptors, its program, its root
 * folder. Opening such a file can have an effect (a device), wait for a writer (a pipe), or
 * wait for a process of that user for ever (FUSE). So a file is taken with O_PATH, which does
 * neither, judged, and opened for reading only if it is a regular file on a file system that
 * no user's process serves.
 *
 * Threads: any; a struct proc_files belongs to one. Errors: negative errno. -EINVAL: not a
 * regular file; -EXDEV: on a file system that is not trusted, or not known.
 */
#ifndef KFDSHIM_COMMON_PROC_FILE_H
#define KFDSHIM_COMMON_PROC_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Several files of one process. The last mount that was trusted is kept, with a descriptor
 * on it so that its number is not given to another one. */
struct proc_files {
	pid_t pid;
	int pin;	  /* -1: none */
	uint64_t mount;	  /* of pin */
	unsigned lookups; /* in the lists of mounts: they are long, and limited in number */
};

void proc_files_begin(struct proc_files *files, pid_t pid);
void proc_files_end(struct proc_files *files);

/* The file behind a link of /proc/PID or /proc/PID/fd, which is `folder`; read-only. */
int proc_files_open(struct proc_files *files, int folder, const char *name);
/* The file of that absolute path in the process's root folder; no link is followed. */
int proc_files_open_path(struct proc_files *files, const char *path);
/* 0: something is there, -ENOENT: nothing, or another error: not known. */
int proc_files_find(struct proc_files *files, const char *path);

/* A regular file of a folder that this user named: no link, pipe or device is opened. */
int plain_file_open(int folder, const char *name);

/* stat(2) that asks no file server: what the kernel knows already. */
int proc_file_stat(int folder, const char *name, struct statx *out);

#endif
