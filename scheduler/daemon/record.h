/* SPDX-License-Identifier: MIT */
/*
 * kfdschedd --record FILE: the file, and the process that writes it (kfdschedd-rec).
 *
 * The worker must not wait for a disk, and has no right to make or shorten files, so it does not
 * have the file: it writes lines to a pipe (feed.h), and the process copies them. The pipe
 * outlives a worker: the next one goes on in the same file. The process ends when the pipe has
 * no writer any more, when the file has RECORD_BYTES_MAX, or when a write fails, the latter two
 * with a line in the log; it is not started again, and the daemon goes on without a recording.
 *
 * The state is the daemon's, and so one of a process; it has one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_RECORD_H
#define KFDSHIM_SCHEDULER_DAEMON_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_VERSION 1
#define RECORD_BYTES_MAX (UINT64_C(256) << 20)
#define RECORD_FILES 3 /* the file and both ends of the pipe */

/*
 * Before the first process is forked and rights are given up: opens `path` and writes its first
 * lines. A file that is there is written anew only if it is a recording or empty, a regular file
 * of the caller's user with one name, and no other daemon's. SIGXFSZ is ignored from now on. 0,
 * or a negative errno and one sentence in `problem`, with `path`; then it is as if not called.
 */
int record_open(const char *path, char *problem, size_t size);

/* The descriptors, -1 where there is none (any more): the pipe to be written, which does not
 * wait; and the file, the pipe to be read and the pipe to be written. */
int record_pipe(void);
void record_files(int out[static RECORD_FILES]);
/* The time (clock_ns()) that the times in the recording are relative to. */
uint64_t record_start_ns(void);

/* kfdschedd-rec, which has closed the pipe's end to be written: gives up its rights, copies the
 * pipe into the file, and returns the exit code when the recording has ended. `refused` as in
 * filter.h. */
int record_run(uint64_t *refused);
/* A part of it: copies whole lines from `in` to `out` until there is no more, the file with
 * `written` bytes so far has `max` (and the rest of a line), or a write fails. 0; 1: at `max`;
 * a negative errno: of the read or write. */
int record_copy(int in, int out, uint64_t written, uint64_t max);

/* In the watchdog, closes the pipe: if kfdschedd-rec has ended a worker that writes gets EPIPE,
 * and if the worker has ended kfdschedd-rec sees the end. */
void record_close(void);

#endif
