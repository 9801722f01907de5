/* SPDX-License-Identifier: MIT */
/* What the daemon says, on stderr: one line a call, whole, from any thread. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOG_H
#define KFDSHIM_SCHEDULER_DAEMON_LOG_H

/* Before any thread: also what happens at every suspension? */
void log_verbose(void);

__attribute__((format(printf, 1, 2))) void log_info(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *format, ...);

#endif
