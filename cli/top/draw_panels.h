/* SPDX-License-Identifier: MIT */
/* Panels that draw.c shows in place of the process list. Used by draw.c only; contracts as in
 * draw.h. */
#ifndef KFDSHIM_CLI_TOP_DRAW_PANELS_H
#define KFDSHIM_CLI_TOP_DRAW_PANELS_H

#include "cli/top/draw.h"

/* Fill the screen except for its last line. draw_queues(): queues of ui->subject; seen: its last
 * sample, or NULL. */
void draw_help(struct screen *screen);
void draw_queues(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
		 const struct observation *seen);
/* Draws the choice of the sort column, from `line` on. */
void draw_sort(struct screen *screen, unsigned line, const struct top_ui *ui);

#endif
