/* SPDX-License-Identifier: MIT */
/*
 * In which namespaces a process is (/proc/PID/ns).
 *
 * Threads: any. It takes no lock and no memory, and leaves an errno.
 */
#ifndef KFDSHIM_COMMON_PROC_NAMESPACE_H
#define KFDSHIM_COMMON_PROC_NAMESPACE_H

#include <stdint.h>
#include <sys/types.h>

/* The number of the machine's first pid namespace (PROC_PID_INIT_INO). */
#define PROC_FIRST_PID_NAMESPACE 4026531836u

/* The number of a process's namespace; kind: "pid", "user", ...; pid 0: of ours. 0, with
 * an errno: the process is gone, or it may not be seen. */
uint64_t proc_namespace(pid_t pid, const char *kind);

#endif
