/* SPDX-License-Identifier: MIT */
/* What the daemon says, on stderr: one line a call, whole, from any thread. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOG_H
#define KFDSHIM_SCHEDULER_DAEMON_LOG_H

#include <stdbool.h>

/* Also what happens at every suspension? The configuration may say so, and for good who
 * started the daemon (log_verbose). */
void log_set_verbose(bool wanted);
void log_verbose(void);

/* Before any thread: stderr is systemd's journal, so a line begins with its priority in
 * place of our name. */
void log_to_journal(void);

/* What somebody should mend; what happens; and what happens often. */
__attribute__((format(printf, 1, 2))) void log_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_info(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *format, ...);

#endif
