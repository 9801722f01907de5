/* SPDX-License-Identifier: MIT */
/*
 * The daemon under memory pressure. Its pages stay in memory, because a page that is read back
 * from the disk between an online request and its preemption is the request's latency, and a
 * watchdog that waits for one is late. The kernel ends other processes first, because each end
 * of a worker resumes everything.
 *
 * Both need rights that the daemon does not keep: they are taken at the start, or the service
 * manager has given what they would change. Without them the daemon runs all the same.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_MEMORY_H
#define KFDSHIM_SCHEDULER_DAEMON_MEMORY_H

/* The watchdog, before it gives up its rights; its workers inherit the limit and the place in
 * the kernel's order, not the locks. What fails is said in the log. */
void memory_prepare(void);
/* This process: all that it has mapped now, and of later mappings each page from its first use
 * on. Under a limit (RLIMIT_MEMLOCK) only what fits of what is mapped now. Silent on failure,
 * because memory_prepare() has failed in the same way. */
void memory_lock(void);
/* The same of what it has mapped since; without a limit there is nothing to do. */
void memory_lock_new(void);

#endif
