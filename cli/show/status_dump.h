/* SPDX-License-Identifier: MIT */
/*
 * kfdsched status PID --dump: prints everything that the daemon knows of one process, as text.
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_SHOW_STATUS_DUMP_H
#define KFDSHIM_CLI_SHOW_STATUS_DUMP_H

#include <jansson.h>

#include "cli/output/fields.h"
#include "cli/util/command.h"

extern const struct field fields_daemon_process[]; /* a process in the daemon's reply */

/* Prints `dump`, the daemon's reply (docs/reference/status.md). Returns the exit code. */
int dump_print(const struct cli_command *cmd, const json_t *dump);

#endif
