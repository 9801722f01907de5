/* SPDX-License-Identifier: MIT */
/* Writes one frame as JSON (docs/reference/processes.md). Pure. Threads: starts none. */
#ifndef KFDSHIM_CLI_TOP_ONCE_JSON_H
#define KFDSHIM_CLI_TOP_ONCE_JSON_H

#include <jansson.h>

#include "cli/top/frame.h"

/* Returns a new object, or NULL if there is no memory. */
json_t *once_json(const struct top_frame *frame);

#endif
