/* SPDX-License-Identifier: MIT */
/*
 * Prints one frame of kfdsched top as lines of text on stdout, or makes its JSON.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_TOP_FRAME_OUTPUT_H
#define KFDSHIM_CLI_TOP_FRAME_OUTPUT_H

#include <jansson.h>

#include "cli/top/frame.h"

/* Returns the frame as a new object, without "gpus" (docs/reference/processes.md). NULL: no
 * memory. */
json_t *top_json(const struct top_frame *frame);
/* Returns 0 or -ENOMEM. */
int top_print(const struct top_frame *frame);

#endif
