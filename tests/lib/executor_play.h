/* SPDX-License-Identifier: MIT */
/*
 * An executor process of the daemon (executor_run.c) whose targets have no GPU: the debug sessions
 * are played, so that suspend and resume succeed at once. A target is a process that sleeps. The
 * program plays the worker; it links executor.c and executor_run.c, but not kfd/debug_target.c.
 *
 * Threads: the first thread of the program. A failure ends the program with a line on stderr.
 */
#ifndef KFDSHIM_TESTS_LIB_EXECUTOR_PLAY_H
#define KFDSHIM_TESTS_LIB_EXECUTOR_PLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/executor/executor.h"

#define PLAY_TARGETS 1000u

/* Begins with `count` targets, and waits until a session is open on each. */
void play_begin(uint32_t count);
/* Starts an executor for a process that has ended, and waits for its refusal. */
void play_attach_to_ended(void);
/* Ends the executor process and the targets. */
void play_end(void);

/* Returns the pid of the executor process. */
pid_t play_process(void);

/* Requests `request` (EXECUTOR_SUSPEND or EXECUTOR_RESUME) of the first `count` targets, and waits
 * until all have done it, as the worker's loop does. */
void play_act(uint32_t count, enum executor_request request);

/* Target `i` has a stop to handle from now on. */
void play_stop(uint32_t i);
/* Sends the SIGCHLD that names target `i`, as the kernel does for a stop. */
void play_signal(uint32_t i);
/* Returns true if the executor of target `i` has handled its stop. */
bool play_is_served(uint32_t i);
/* Returns how often the executor process has checked one target for a stop. */
uint64_t play_checks(void);

#endif
