/* SPDX-License-Identifier: MIT */
/*
 * Writing the log into a regular file by a separate process (kfdschedd-log).
 *
 * A write to a file can wait for a disk, or for a file server that does not respond (NFS, FUSE).
 * So no other process of the daemon writes the file. They write lines into a pipe without
 * waiting (log.h), and this process copies the pipe to the file. It has no privileges and
 * ignores the signals that end the daemon. It ends when no process has the pipe open for
 * writing, so that the last lines of a daemon that was killed are written, too. If this process
 * is killed, the others write to the file directly again.
 *
 * Threads: the main thread of the daemon's first process.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOG_FILE_H
#define KFDSHIM_SCHEDULER_DAEMON_LOG_FILE_H

/* Starts kfdschedd-log and redirects log lines to it. Call it after log_open() and before any
 * other fork. Does nothing if stderr is not a regular file, or if the process or the pipe cannot
 * be created. */
void log_file_begin(void);

/* Waits until kfdschedd-log has written the rest of the pipe and ended, at most LOG_FILE_END_NS.
 * Call it when the other processes have ended. */
void log_file_end(void);

#define LOG_FILE_END_NS 2000000000u

#endif
