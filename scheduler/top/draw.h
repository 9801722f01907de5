/* SPDX-License-Identifier: MIT */
/*
 * Draws a frame and what somebody does with it onto a screen: at any size, from 80x24 on
 * with all that matters; lines are cut and columns go, nothing is wrapped.
 *
 * Pure but for LC_CTYPE (screen.h). Threads: none.
 */
#ifndef KFDSHIM_TOP_DRAW_H
#define KFDSHIM_TOP_DRAW_H

#include "scheduler/observe/observe.h"
#include "scheduler/top/screen.h"
#include "scheduler/top/ui.h"

/* `ui` learns how many rows there are room for and which columns are shown. `queues`: what
 * was seen of ui->subject last; NULL: nothing yet. */
void draw(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
	  const struct observation *queues);

#endif
