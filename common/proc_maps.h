/* SPDX-License-Identifier: MIT */
/*
 * Files that a process has mapped (/proc/PID/maps).
 *
 * Threads: any. Reads the whole text, which has a line for each mapping, so this is not for
 * frequent use.
 */
#ifndef KFDSHIM_COMMON_PROC_MAPS_H
#define KFDSHIM_COMMON_PROC_MAPS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Searches for a mapped file whose name, without directories, begins with `name` (a library's
 * version can follow). Returns 1: there is one; 0: there is none; or a negative errno if the
 * process cannot be read, which is -ESRCH also for a process without memory (a zombie, a kernel
 * thread).
 *
 * path: on success the path of the file in the process's mount namespace; of several files that
 * with the highest address, which is usually the one that was loaded first. NULL, with size 0: not
 * needed. Not changed if there is no such file.
 */
int proc_maps_find(pid_t pid, const char *name, char *path, size_t size);

#endif
