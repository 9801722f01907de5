/* SPDX-License-Identifier: MIT */
/*
 * Namespaces of a process (/proc/PID/ns).
 *
 * Threads: any. Takes no lock, allocates nothing, does not keep errno.
 */
#ifndef KFDSHIM_COMMON_PROC_NAMESPACE_H
#define KFDSHIM_COMMON_PROC_NAMESPACE_H

#include <stdint.h>
#include <sys/types.h>

/* Number of the initial PID namespace (PROC_PID_INIT_INO). */
#define PROC_FIRST_PID_NAMESPACE 4026531836u

/* Returns the number of a process's namespace of a kind ("pid", "user", ...); pid 0: of this
 * process. Returns 0 with errno set if the process is gone, or must not be read. */
uint64_t proc_namespace(pid_t pid, const char *kind);

#endif
