/* SPDX-License-Identifier: MIT */
/*
 * Finds programs of a simulation in virtual time that bypass its time library: programs that do not
 * load the library (linked statically, or for another processor), whose clocks are the machine's;
 * and programs that wait in the kernel with a timeout of their own, which the machine's clock ends.
 *
 * They are found by checking the threads from time to time while all of them sleep. A thread that
 * sleeps rarely and only for a short time can be missed.
 *
 * Threads: one at a time.
 */
#ifndef KFDSHIM_SIM_HOST_BYPASS_H
#define KFDSHIM_SIM_HOST_BYPASS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct bypass;
struct idle;

/* Returns NULL if memory is short. @init: the first process of the simulation, which is kfdsim's
 * own and is not checked. Release with bypass_free(). */
struct bypass *bypass_new(pid_t init);
void bypass_free(struct bypass *bypass);

/* Checks all threads, which must be asleep. Does nothing if these checks have already used too much
 * CPU time: more than 20 ms plus 1/50 of the real time. */
void bypass_check(struct bypass *bypass, const struct idle *idle);
/* Must be called when a thread has ended. */
void bypass_end(struct bypass *bypass, pid_t tid);

/* Writes a line for each program that was found to standard error. */
void bypass_log(const struct bypass *bypass);
/* Returns "bypasses" of docs/reference/kfdsim-report.md as a new reference. */
json_t *bypass_json(const struct bypass *bypass);

#endif
