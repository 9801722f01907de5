/* SPDX-License-Identifier: MIT */
/*
 * Which processes have an event descriptor, as /proc shows it.
 *
 * The kernel numbers all event descriptors that are open (`eventfd-id` in fdinfo, Linux 5.2). A
 * number names one of them for as long as the caller has it open. All process numbers are those
 * of the caller's PID namespace.
 */
#ifndef KFDSHIM_SIM_HOST_EVENT_FILES_H
#define KFDSHIM_SIM_HOST_EVENT_FILES_H

#include <sys/types.h>

/* The number of the event descriptor that the process or thread @pid has as @fd; a negative
 * errno: -ENOENT if it is something else. */
int event_number(pid_t pid, int fd);

/* A process that has the event descriptor @number open: @likely if it has, else any but the
 * caller. 0: there is none. A descriptor that is under way in a socket is not found. */
pid_t event_holder(int number, pid_t likely);

#endif
