/* SPDX-License-Identifier: MIT */
/*
 * Lets a long command end early: after SIGINT (Ctrl-C), SIGTERM or SIGHUP (its terminal was closed)
 * the command stops and prints what it has. A second signal of the same number ends the process at
 * once.
 *
 * Threads: stop_begin() is called by the first thread, before there are others. Ownership: the
 * handlers stay installed until the process ends; nothing is freed. A child process starts without
 * the handlers (common/child.h). If a child calls stop_begin(), it shares the request to stop with
 * its parent: a signal to the parent or to any such child stops all of them.
 */
#ifndef KFDSHIM_CLI_UTIL_INTERRUPT_H
#define KFDSHIM_CLI_UTIL_INTERRUPT_H

#include <stdint.h>

#include "cli/util/command.h"

/* Installs the handlers, except for signals that are ignored. Returns CLI_DONE, or CLI_FAILED after
 * one line on stderr. */
int stop_begin(const struct cli_command *cmd);
/* Sleeps until `ns` (CLOCK_MONOTONIC) or until a signal has arrived. Returns true if a
 * signal has arrived. */
bool stop_sleep_until(uint64_t ns);
/* Returns true if a signal has arrived. Does not wait. */
bool stop_requested(void);
/* Returns an fd that becomes readable when a signal to stop arrives, and stays readable, for use
 * with poll(2). The caller must not read or close it. */
int stop_fd(void);

#endif
