/* SPDX-License-Identifier: MIT */
/*
 * Programs of a virtual world that bypass its time library: those without it (linked statically,
 * for another processor), whose clocks are the machine's; and those that wait in the kernel with a
 * time-out of their own, which the machine's clock ends.
 *
 * They are found by looking at the threads now and then while all of them sleep, so one that
 * sleeps shortly and rarely is missed. One thread.
 */
#ifndef KFDSHIM_SIM_HOST_BYPASS_H
#define KFDSHIM_SIM_HOST_BYPASS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct bypass;
struct idle;

/* @init: the world's first process, which is kfdsim's own. NULL: no memory. */
struct bypass *bypass_new(pid_t init);
void bypass_free(struct bypass *bypass);

/* Looks at all threads, which must be asleep, unless that has taken too much of the machine's time
 * already. */
void bypass_look(struct bypass *bypass, const struct idle *idle);
/* A thread has ended. */
void bypass_end(struct bypass *bypass, pid_t tid);

/* Writes a line for each program to standard error. */
void bypass_say(const struct bypass *bypass);
/* "bypasses" of docs/formats.md; a new reference. */
json_t *bypass_json(const struct bypass *bypass);

#endif
