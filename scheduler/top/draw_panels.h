/* SPDX-License-Identifier: MIT */
/* What stands in the list's place, for draw.c alone. Contracts as there. */
#ifndef KFDSHIM_TOP_DRAW_PANELS_H
#define KFDSHIM_TOP_DRAW_PANELS_H

#include "scheduler/top/draw.h"

/* All but the last line. */
void draw_help(struct screen *screen);
void draw_queues(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
		 const struct observation *seen);
/* From `line` on. */
void draw_sort(struct screen *screen, unsigned line, const struct top_ui *ui);

#endif
