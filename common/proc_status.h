/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/status of a process or a thread, with the terms of proc(5).
 *
 * Threads: any. Takes no lock, allocates nothing, does not keep errno.
 */
#ifndef KFDSHIM_COMMON_PROC_STATUS_H
#define KFDSHIM_COMMON_PROC_STATUS_H

#include <stddef.h>
#include <sys/types.h>

#define PROC_STATUS_BYTES 4096 /* size of a buffer for the text */

/* Reads the text, NUL-terminated, as far as it fits. Returns 0 or a negative errno. */
int proc_status_read(pid_t pid, char *text, size_t size);
/* Returns what follows @key (as "\nTgid:") in such a text; NULL: there is no such line. */
const char *proc_status_field(const char *text, const char *key);
/* Returns the first number behind @key in the status of a process or thread; 0: it cannot be
 * read. */
pid_t proc_status_number(pid_t pid, const char *key);

#define PROC_NS_LEVELS_MAX 33 /* the kernel allows 32 nested PID namespaces */

/* Writes the numbers that a process or thread has in each PID namespace, from this process's one to
 * its own. Returns how many; 0: the kernel does not report them. */
unsigned proc_status_ns_pids(const char *text, pid_t out[static PROC_NS_LEVELS_MAX]);

#endif
