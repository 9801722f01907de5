/* SPDX-License-Identifier: MIT */
/* kfdsched status PID --dump: all that the daemon knows of one process, as text. */
#ifndef KFDSHIM_CLI_DUMP_H
#define KFDSHIM_CLI_DUMP_H

#include <jansson.h>

#include "scheduler/cli/cli.h"

/* `dump`: the daemon's answer (docs/formats.md). Returns the exit code. */
int dump_print(const struct verb *verb, const json_t *dump);

#endif
