/* SPDX-License-Identifier: MIT */
/*
 * Memory of the daemon's processes: access to shared memory, and protection under memory pressure.
 * - The watchdog creates all shared memory before its first fork, so each process starts with all
 *   of it mapped. A process that reads untrusted input gives up write access to what it does not
 *   write, so that an attacker in control of that process cannot reach the others.
 * - Its pages are locked in memory. If a page had to be read back from the disk between an online
 *   request and the preemption for it, that time would be added to the request's latency; and a
 *   watchdog that waits for a page would act too late.
 * - Its OOM score is lowered, so that the kernel kills other processes first: each end of a worker
 *   resumes all processes that it holds.
 *
 * The last two need rights that the daemon gives up. They are set at the start while it still has
 * these rights, or the service manager has set them before. Without them the daemon runs
 * nevertheless.
 *
 * Threads: any; no state. The locks are those of the calling process.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_MEMORY_H
#define KFDSHIM_SCHEDULER_DAEMON_MEMORY_H

#include <stdbool.h>

/* Lowers the OOM score, raises RLIMIT_MEMLOCK and locks the memory of the watchdog. Called
 * before the watchdog gives up its rights. Its children inherit the score and the limit, but not
 * the locks. Failures are logged. */
void memory_prepare(void);

/*
 * Locks the memory of the calling process: all pages of the present mappings, and each page of
 * later mappings from its first use on. If RLIMIT_MEMLOCK is limited, locks only the present
 * mappings that fit. Failures are not logged, because memory_prepare() has already logged the same
 * failure.
 */
void memory_lock(void);

/* Locks the mappings that were created since memory_lock(). Does nothing if RLIMIT_MEMLOCK is
 * unlimited, because memory_lock() has covered them then. */
void memory_lock_new(void);

/* Makes each shared mapping that this process can write, except the one at `keep`, read-only, or
 * unmaps it. Read-only is permanent only with a seccomp filter that refuses mprotect(2). Returns 0
 * or a negative errno. */
int memory_unshare(const void *keep, bool unmap);

#endif
