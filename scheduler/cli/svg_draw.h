/* SPDX-License-Identifier: MIT */
/*
 * What the plots share: text and lines of an SVG file, and steps of a scale.
 * Coordinates are pixels from the upper left. Threads: any.
 */
#ifndef KFDSHIM_CLI_SVG_DRAW_H
#define KFDSHIM_CLI_SVG_DRAW_H

#include <stdio.h>

/* As XML has it; what it cannot have becomes '?'. */
void svg_escaped(FILE *out, const char *text);
/* anchor: start, middle, end. */
void svg_text(FILE *out, double x, double y, const char *classes, const char *anchor,
	      const char *text);
void svg_line(FILE *out, const char *classes, double x1, double y1, double x2, double y2);
/* The largest of 1, 2, 5 x 10^n that is not above `value`; the next one after `step`. */
double svg_step_below(double value);
double svg_step_above(double step);
/* "200 us", "5 ms", "1 s" for such a step of microseconds: below a scale. */
void svg_tick_us(FILE *out, double x, double y, double us);

#endif
