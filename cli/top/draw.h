/* SPDX-License-Identifier: MIT */
/*
 * Draws a frame and the state of the user interface on a screen of any size. From 80x24 on all
 * important values are visible. On smaller screens lines are cut and columns are hidden; nothing is
 * wrapped.
 *
 * Pure, except that it depends on LC_CTYPE (screen.h). Threads: starts none.
 */
#ifndef KFDSHIM_CLI_TOP_DRAW_H
#define KFDSHIM_CLI_TOP_DRAW_H

#include "cli/inspect/inspect.h"
#include "cli/top/keys.h"
#include "cli/top/screen.h"

/* Draws the whole screen. Stores in `ui` the number of rows that fit and the columns that are
 * shown. queues: last sample of ui->subject; NULL: none yet. */
void draw(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
	  const struct observation *queues);

#endif
