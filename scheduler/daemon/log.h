/* SPDX-License-Identifier: MIT */
/*
 * The daemon's log on stderr. Each call writes one complete line, from any thread of any process of
 * the daemon. No call waits for the reader of the log: a line that stderr does not accept at once
 * is dropped, and the next accepted line is preceded by the number of dropped lines. If stderr is a
 * regular file, a separate process writes it (log_file_begin()).
 *
 * Lines that clients or users can cause are limited: there is a budget (a rate limit) for the lines
 * about each client and one for the lines that each user causes. So no client can flood the log or
 * hide lines about another client in a flood. Lines beyond the budget are counted, and the next
 * line within the budget is preceded by that count.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOG_H
#define KFDSHIM_SCHEDULER_DAEMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ratelimit.h"

/*
 * The rate limit of the log lines of a client or of a user. All zero: no line was logged yet.
 *
 * Threads: one thread uses a struct log_share.
 */
struct log_share {
	struct ratelimit limit;
	uint32_t left_out; /* suppressed lines whose number is not logged yet */
};

/* Number of lines that are missing in the log, of all processes that share this struct. The
 * counters only increase. */
struct log_losses {
	uint64_t dropped;  /* stderr had no room */
	uint64_t left_out; /* suppressed by the rate limit of a client or a user */
};

/*
 * Counts lost lines in *losses from now on, and adds the number that was counted so far. If *losses
 * is in shared memory, processes that are forked later count there, too. A forked process can call
 * the function again; its lines are then counted in its new *losses only.
 *
 * Threads: call it before the process starts a second thread. `losses` must stay valid for the life
 * of the process.
 */
void log_count_in(struct log_losses *losses);

/* Returns the file descriptor that lines are written to; -1 if it is stderr itself. */
int log_descriptor(void);

/* Determines the type of stderr, and opens a non-blocking descriptor for it if possible. Call it
 * once, before the process starts a second thread. */
void log_open(void);

/* Returns true if stderr is a regular file, a write to which may block. Valid after log_open(). */
bool log_is_file(void);

/* Writes lines to the non-blocking pipe `fd` from now on. With -1, closes the pipe and writes to
 * stderr again. Call it before the process starts a second thread. */
void log_to_pipe(int fd);

/* log_set_verbose() enables or disables log_debug(), as the configuration sets it. log_verbose()
 * enables it permanently (option --verbose, KFDSCHEDD_LOG=debug); later calls of log_set_verbose()
 * have no effect. */
void log_set_verbose(bool wanted);
void log_verbose(void);

/* Makes each line begin with its priority, "<N>", instead of the program's name, because stderr is
 * connected to systemd's journal. Call it before the process starts a second thread. */
void log_to_journal(void);

/* Priorities of syslog(3). */
enum log_priority {
	LOG_PRIORITY_ERROR = 3,
	LOG_PRIORITY_WARNING = 4,
	LOG_PRIORITY_INFO = 6,
	LOG_PRIORITY_DEBUG = 7,
};
enum log_budget { LOG_OF_CLIENT, LOG_OF_USER };

/* Write a line from any thread, with control characters replaced. log_error() is for a problem that
 * an administrator should fix, log_info() for a change of state, log_debug() for the events of each
 * suspension; log_debug() has an effect only if verbose. */
__attribute__((format(printf, 2, 3))) void log_line(enum log_priority priority, const char *format,
						    ...);
#define log_error(...) log_line(LOG_PRIORITY_ERROR, __VA_ARGS__)
#define log_info(...) log_line(LOG_PRIORITY_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_PRIORITY_DEBUG, __VA_ARGS__)

/* log_client() and log_user() write a line as log_info(), if the rate limit in `share` allows it:
 * about a client 20 lines at once, then 1 a second; for a user 100 lines at once, then 5 in 2 s.
 * They are called by the loop thread of the process that owns `share`. */
__attribute__((format(printf, 3, 4))) void log_within(struct log_share *share, enum log_budget of,
						      const char *format, ...);
#define log_client(share, ...) log_within(share, LOG_OF_CLIENT, __VA_ARGS__)
#define log_user(share, ...) log_within(share, LOG_OF_USER, __VA_ARGS__)

/*
 * Starts kfdschedd-log, which writes the log into a regular file, and redirects log lines to it. A
 * write to a file can wait for a disk, or for a file server that does not respond (NFS, FUSE). So
 * no other process of the daemon writes the file: they write lines into a pipe without waiting, and
 * this process copies the pipe to the file. It has no privileges and ignores the signals that end
 * the daemon. It ends when no process has the pipe open for writing, so that the last lines of a
 * daemon that was killed are written, too. If this process is killed, the other processes write to
 * the file directly again.
 *
 * Call it in the main thread of the first process, after log_open() and before any other fork. Does
 * nothing if stderr is not a regular file, or if the process or the pipe cannot be created.
 */
void log_file_begin(void);

/* Waits until kfdschedd-log has written the rest of the pipe and ended, at most LOG_FILE_END_NS.
 * Call it when the other processes have ended. */
void log_file_end(void);

#define LOG_FILE_END_NS 2000000000u

#endif
