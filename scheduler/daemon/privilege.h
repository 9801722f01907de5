/* SPDX-License-Identifier: MIT */
/*
 * What the daemon may do, beyond what any process of its user may: trace processes
 * (CAP_SYS_PTRACE), and run in real time (CAP_SYS_NICE), the latter only while a worker
 * starts. The watchdog uses neither: it has them permitted, so that each worker can have
 * them, and none effective. Started without them the daemon does without. Both processes
 * have no-new-privs and a filter of system calls (filter.h).
 *
 * For a process of one thread; a failure is said in the log and not fatal.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_PRIVILEGE_H
#define KFDSHIM_SCHEDULER_DAEMON_PRIVILEGE_H

#include <stdint.h>

/* The watchdog, when it has opened all it needs. refused: as of filter_install(). */
void privilege_watchdog(uint64_t *refused);
/* A worker's first step: both rights in effect. */
void privilege_worker_start(void);
/* And before it looks at anything from outside: tracing alone, for good. */
void privilege_worker(uint64_t *refused);
/* The process that accepts connections (greeter.h): no right at all, for good. */
void privilege_door(uint64_t *refused);
/* The process that serves metrics, before it accepts a connection: no right at all. */
void privilege_metrics(uint64_t *refused);

#endif
