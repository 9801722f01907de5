/* SPDX-License-Identifier: MIT */
/*
 * Landlock (Linux 5.13 and newer) for the process that reads the configuration: it takes away
 * from root, too, what a process may do with files.
 *
 * Worker and watchdog have none: a process in such a domain may trace only processes of the
 * same domain, whatever its capabilities, and may not read which namespaces others are in.
 * Children inherit the domain, so the watchdog cannot have one either.
 *
 * Threads: the calling one, and what it begins.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LANDLOCK_H
#define KFDSHIM_SCHEDULER_DAEMON_LANDLOCK_H

/* From now on files are read only: none is opened to be written, made, removed, renamed or run;
 * no TCP port is bound or connected to, no other process is traced or signalled, as far as this
 * kernel knows these rights. Needs no-new-privs. 0; -ENOSYS: this kernel has no Landlock, or it
 * is turned off. */
int landlock_read_only(void);
/* The version of the kernel's interface; 0: none. */
int landlock_version(void);

#endif
