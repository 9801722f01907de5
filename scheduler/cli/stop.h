/* SPDX-License-Identifier: MIT */
/*
 * How a long verb ends early: SIGINT (Ctrl-C), SIGTERM and SIGHUP (its terminal went
 * away) ask it to stop, and it tells what it has. A second one of them ends it at once.
 *
 * Threads: the first thread of a process that has no others yet. Nothing is freed: it
 * holds until the process ends. A child that is to be exec'd begins with stop_child().
 */
#ifndef KFDSHIM_CLI_STOP_H
#define KFDSHIM_CLI_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* 0, or a negative errno. */
int stop_begin(void);
/* Sleeps until that moment (CLOCK_MONOTONIC, ns), or until somebody asks: true. */
bool stop_sleep_until(uint64_t ns);
bool stop_asked(void);
/* Readable from the moment that somebody asks, for poll(2); not to be read or closed. */
int stop_fd(void);
/* In a child between fork and exec: signals are as they were before stop_begin(). */
void stop_child(void);

#endif
