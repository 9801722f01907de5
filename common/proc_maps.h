/* SPDX-License-Identifier: MIT */
/*
 * Which files a process has in its memory (/proc/PID/maps).
 *
 * Threads: any. It reads all of a text that has a line for each mapping: not for often.
 */
#ifndef KFDSHIM_COMMON_PROC_MAPS_H
#define KFDSHIM_COMMON_PROC_MAPS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * 1: it has one whose name, without its folders, begins with `name` (a library's version
 * may follow); 0: none. Negative errno: it cannot be seen, -ESRCH also where there is no
 * memory (a zombie, a thread of the kernel). path: where it is, as the process's namespace
 * has it; of several that which is highest in memory, as a rule the one that was loaded
 * first. NULL, and size 0: not wanted. It stays as it is where none is found.
 */
int proc_maps_find(pid_t pid, const char *name, char *path, size_t size);

#endif
