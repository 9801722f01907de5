/* SPDX-License-Identifier: MIT */
/*
 * The log in a regular file: the process that writes it (kfdschedd-log).
 *
 * A write to a file may wait for a disk, or for a server that does not answer (NFS, FUSE). So no
 * other process of the daemon writes it: each writes its lines to a pipe, without waiting (log.h),
 * and this process copies them. It has no rights, ignores the signals that end the daemon, and ends
 * when no process has the pipe any more, so the last lines of a daemon that was killed are written,
 * too. If it is killed, lines go to the file directly again.
 *
 * For the main thread of the daemon's first process.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOG_FILE_H
#define KFDSHIM_SCHEDULER_DAEMON_LOG_FILE_H

/* After log_open(), before any other process is forked. Nothing if stderr is no regular file, or if
 * there is no process or pipe to be had. */
void log_file_begin(void);
/* When the others have ended: waits for what is in the pipe, LOG_FILE_END_NS at most. */
void log_file_end(void);

#define LOG_FILE_END_NS 2000000000u

#endif
