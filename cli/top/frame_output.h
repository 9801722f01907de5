/* SPDX-License-Identifier: MIT */
/*
 * Prints one frame of kfdsched top as lines of text on stdout.
 *
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_TOP_FRAME_OUTPUT_H
#define KFDSHIM_CLI_TOP_FRAME_OUTPUT_H

#include "cli/top/frame.h"

/* Returns 0 or -ENOMEM. */
int top_print(const struct top_frame *frame);

#endif
