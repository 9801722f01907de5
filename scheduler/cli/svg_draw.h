/* SPDX-License-Identifier: MIT */
/*
 * What the plots share: one look in light and in dark, text and lines, and scales whose
 * steps are 1, 2 and 5 x 10^n. Self-contained SVG without scripts.
 * Coordinates are pixels from the upper left. Threads: any.
 */
#ifndef KFDSHIM_CLI_SVG_DRAW_H
#define KFDSHIM_CLI_SVG_DRAW_H

#include <stdio.h>

/* The file begins, with its ground drawn. `style` and `dark`: CSS of this plot's own
 * classes, and of those again on dark ground. Of all plots' are, for text: title, head,
 * name, soft, tick, note; for lines: grid, base. */
void svg_begin(FILE *out, double width, double height, const char *title, const char *style,
	       const char *dark);
void svg_end(FILE *out);

/* What XML cannot have becomes '?'. anchor: start, middle, end. */
void svg_text(FILE *out, double x, double y, const char *classes, const char *anchor,
	      const char *text);
void svg_line(FILE *out, const char *classes, double x1, double y1, double x2, double y2);

/* The smallest step of which `range`, above 0, has at most `most`. */
double svg_step(double range, unsigned most);

/* Times from left to right, by their logarithms. */
struct svg_scale {
	double low, high; /* us */
	double x, width;  /* pixels */
};

/* Begins with nothing, is told all that it is to show (0 and NaN are no times), and then
 * reaches from a step below that to one above; 100 us to 10 ms where it is nothing. */
struct svg_scale svg_scale_begin(double x, double width);
void svg_scale_show(struct svg_scale *scale, double us);
void svg_scale_end(struct svg_scale *scale);
/* What is less than its low stands there. */
double svg_scale_x(const struct svg_scale *scale, double us);
/* A line for each step, and what it is below; where more than `labels` would stand there,
 * of the powers of ten alone. */
void svg_scale_grid(FILE *out, const struct svg_scale *scale, double top, double bottom,
		    unsigned labels);

#endif
