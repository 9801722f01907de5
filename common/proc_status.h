/* SPDX-License-Identifier: MIT */
/*
 * What /proc/PID/status says of a process or a thread, in proc(5)'s words.
 *
 * Threads: any. It takes no lock and no memory, and leaves an errno.
 */
#ifndef KFDSHIM_COMMON_PROC_STATUS_H
#define KFDSHIM_COMMON_PROC_STATUS_H

#include <stddef.h>
#include <sys/types.h>

#define PROC_STATUS_BYTES 4096

/* The text, as far as it fits. 0 or a negative errno. */
int proc_status_read(pid_t pid, char *text, size_t size);
/* What follows @key ("\nTgid:") in such a text; NULL: it has no such line. */
const char *proc_status_field(const char *text, const char *key);
/* The first number of that line of a process's or thread's; 0: it cannot be read. */
pid_t proc_status_number(pid_t pid, const char *key);

#define PROC_NS_LEVELS_MAX 33 /* the kernel allows 32 nested PID namespaces */

/* The numbers of a process or thread, from our PID namespace to its own. Returns how many. */
unsigned proc_status_ns_pids(const char *text, pid_t out[static PROC_NS_LEVELS_MAX]);

#endif
