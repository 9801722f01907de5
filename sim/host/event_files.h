/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes that have an eventfd open, from /proc.
 *
 * The kernel numbers all open eventfds (`eventfd-id` in fdinfo, Linux 5.2). A number identifies one
 * eventfd as long as the caller has it open. All pids are those of the caller's PID namespace.
 */
#ifndef KFDSHIM_SIM_HOST_EVENT_FILES_H
#define KFDSHIM_SIM_HOST_EVENT_FILES_H

#include <sys/types.h>

/* Returns the kernel's number of the eventfd that the process or thread @pid has as @fd, or a
 * negative errno: -ENOENT if @fd is something else. */
int event_number(pid_t pid, int fd);

/* Returns a process that has eventfd @number open: @likely if it has, otherwise any process except
 * the caller. Returns 0 if there is none, and @likely if /proc cannot be read. An eventfd that is
 * in flight in a socket is not found. */
pid_t event_holder(int number, pid_t likely);

#endif
