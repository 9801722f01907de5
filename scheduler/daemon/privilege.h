/* SPDX-License-Identifier: MIT */
/*
 * What the daemon may do, beyond what any process of its user may: trace processes
 * (CAP_SYS_PTRACE), and run in real time (CAP_SYS_NICE), the latter only while a worker or
 * an executor process starts. The watchdog uses neither: it has them permitted, so that each
 * of these can have them, and none effective. kfdschedd-read (reader.h) needs the first to read
 * in /proc which namespaces other users' processes are in; its filter forbids it to trace. Started
 * without them the daemon does without. All processes have no-new-privs and a filter of
 * system calls (filter.h).
 *
 * For a process of one thread; a failure is said in the log and not fatal.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_PRIVILEGE_H
#define KFDSHIM_SCHEDULER_DAEMON_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

/* The watchdog, when it has opened all it needs. refused: as of filter_install(). */
void privilege_watchdog(uint64_t *refused);
/* The first step of a worker, an executor process or the reader: both rights in effect, and
 * real-time priority, or a higher one. say: in the log if neither is to be had. */
void privilege_urgent(bool say);
/* And before it takes anything from outside, for good: no right at all. */
void privilege_worker(uint64_t *refused);
/* Tracing alone. */
void privilege_executor(uint64_t *refused);
void privilege_reader(uint64_t *refused);
/* The process that accepts connections (greeter.h): no right at all, for good. Before, it takes
 * a higher priority where that is allowed, but not a real-time one: strangers can keep it busy. */
void privilege_door(uint64_t *refused);
/* The process that serves metrics, before it accepts a connection: no right at all. */
void privilege_metrics(uint64_t *refused);
/* The process that writes a recording (record.h), or the log (log_file.h): the same. */
void privilege_record(uint64_t *refused);

#endif
