/* SPDX-License-Identifier: MIT */
/*
 * What the daemon says, on stderr: one line a call, whole, from any thread of any of its
 * processes. Nobody ever waits for whoever reads: a line that stderr does not take at once
 * is dropped, and the next that it takes says how many were. Into a regular file another process
 * writes (log_file.h).
 *
 * What others can cause has a share: lines about one client, and lines caused by one user,
 * so that nobody floods the log or hides another's lines in the flood. What a share does
 * not grant is counted, and told with its next line.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOG_H
#define KFDSHIM_SCHEDULER_DAEMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/budget.h"

/* Part of it for one thread. All zero: nothing was said yet. */
struct log_share {
	struct budget budget;
	uint32_t left_out;
};

/* Lines that are not in the log, of all processes that share it; counts only grow. */
struct log_losses {
	uint64_t dropped;  /* stderr had no room */
	uint64_t left_out; /* of a share */
};

/* Before any thread: from now on they are counted there, for good. The processes that are
 * forked later count in the same place if it is shared memory. Once more in a forked
 * process: its own lines are counted in the new place alone. */
void log_count_in(struct log_losses *losses);

/* The descriptor that lines go to; -1: stderr. */
int log_descriptor(void);

/* Before any thread: finds out what stderr is, and gets a way to it that does not wait. */
void log_open(void);
/* Then: is it a regular file, to which a write may wait? */
bool log_is_file(void);
/* Before any thread: lines go to this pipe from now on, which does not wait; -1: to stderr, and a
 * pipe that was there is closed. */
void log_to_pipe(int fd);
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
/* log_info within `share`, of a client or of a user. */
__attribute__((format(printf, 2, 3))) void log_client(struct log_share *share, const char *format,
						      ...);
__attribute__((format(printf, 2, 3))) void log_user(struct log_share *share, const char *format,
						    ...);

#endif
