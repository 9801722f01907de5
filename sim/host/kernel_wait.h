/* SPDX-License-Identifier: MIT */
/*
 * Finds where a thread waits in the kernel, from /proc, and whether the machine's clock ends the
 * wait. In a simulation in virtual time, only waits that bypass the time library are ended by that
 * clock.
 *
 * Process and thread ids are those of the caller's PID namespace. Threads: any.
 */
#ifndef KFDSHIM_SIM_HOST_KERNEL_WAIT_H
#define KFDSHIM_SIM_HOST_KERNEL_WAIT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- lists where each thread of a simulation waits, to report a large advance of time or a
 * deadlock. The threads must be asleep. ---- */
struct sim;
struct idle;
/* Returns a list of the threads with the places where they wait, as a new reference. Format:
 * docs/reference/kfdsim-report.md. */
json_t *where_threads_wait(const struct sim *sim, const struct idle *idle);
/* Writes one line for each thread of such a list to standard error. */
void where_log(const json_t *threads);

/* Returns true if only an event outside of kfdsim's knowledge can wake a thread. Returns false if a
 * thread waits for the machine's clock or for kfdsim's own standard input. */
bool where_is_deadlock(const struct sim *sim, const struct idle *idle);

/* ---- programs that bypass the time library ----
 * Finds programs of a simulation in virtual time that bypass its time library: programs that do not
 * load the library (linked statically, or for another processor), whose clocks are the machine's;
 * and programs that wait in the kernel with a timeout of their own, which the machine's clock ends.
 * They are found by checking the threads from time to time while all of them sleep. A thread that
 * sleeps rarely and only for a short time can be missed. Threads: one at a time. */
struct bypass;

/* Creates the state of bypass_check(); NULL: no memory. @init: the first process of the simulation,
 * which is kfdsim's own and is not checked. Release with bypass_free(). */
struct bypass *bypass_new(pid_t init);
void bypass_free(struct bypass *bypass);

/* Checks all threads, which must be asleep. Does nothing if these checks have already used too much
 * CPU time: more than 20 ms plus 1/50 of the real time. */
void bypass_check(struct bypass *bypass, const struct idle *idle);
/* Forgets the process with this id. Must be called for each thread that has ended. */
void bypass_end(struct bypass *bypass, pid_t tid);

/* Writes a line for each program that was found to standard error. */
void bypass_log(const struct bypass *bypass);
/* Returns "bypasses" of docs/reference/kfdsim-report.md as a new reference. */
json_t *bypass_json(const struct bypass *bypass);

#endif
