/* SPDX-License-Identifier: MIT */
/*
 * The recording of kfdschedd --record FILE: the file, and the process that writes it
 * (kfdschedd-rec).
 *
 * The worker must not wait for a disk, and has no right to create or truncate files. So it does not
 * have the file open: it writes lines to a pipe (feed.h), and kfdschedd-rec copies them to the
 * file. The pipe outlives the worker, and the next worker continues in the same file. kfdschedd-rec
 * ends when the pipe has no writer any more, when the file has RECORD_BYTES_MAX bytes, or when a
 * write fails; in the last two cases it logs the reason. It is not restarted, and the daemon
 * continues without a recording.
 *
 * There is one recording in a process; the state is global.
 *
 * Threads: processes with one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_RECORDING_RECORD_H
#define KFDSHIM_SCHEDULER_DAEMON_RECORDING_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_VERSION 1
#define RECORD_BYTES_MAX (UINT64_C(256) << 20)
#define RECORD_FILES 3 /* the file and both ends of the pipe */

/*
 * Opens `path`, writes the first lines and creates the pipe. Call it before the first fork and
 * before privileges are dropped. An existing file is overwritten only if it is empty or a
 * recording, is a regular file of the caller's user without further hard links, and no other daemon
 * writes it. SIGXFSZ is ignored from now on.
 *
 * Returns 0, or a negative errno with one sentence in `problem` that names `path`; then the call
 * has no other effect. `path` must stay valid.
 */
int record_open(const char *path, char *problem, size_t size);

/* record_pipe() returns the non-blocking write end of the pipe. record_files() stores the
 * descriptors of the file, the read end and the write end. -1: there is none any more. */
int record_pipe(void);
void record_files(int out[static RECORD_FILES]);

/* Returns the time of clock_ns() to which the times in the recording are relative. */
uint64_t record_start_ns(void);

/* The main function of kfdschedd-rec, which has closed the write end of the pipe: drops
 * privileges and copies the pipe to the file. `refused` as in privileges.h. Returns the exit
 * code of the process when the recording has ended. */
int record_run(uint64_t *refused);

/*
 * Copies lines from `in` to `out` until the end of `in`, until a write fails, or until the next
 * piece would make the file larger than `max`; `written` is its size before. At the limit, a
 * line that was begun is completed.
 *
 * Returns 0 at the end of `in`; 1 at the limit; a negative errno of a read or write.
 */
int record_copy(int in, int out, uint64_t written, uint64_t max);

/* Closes the pipe in the watchdog. If kfdschedd-rec has ended, a worker that writes gets EPIPE;
 * if the worker has ended, kfdschedd-rec sees the end of the pipe. */
void record_close(void);

#endif
