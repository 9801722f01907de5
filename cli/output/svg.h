/* SPDX-License-Identifier: MIT */
/*
 * Functions that all plots use: they write one style for light and dark mode, text, lines, and
 * logarithmic scales whose steps are 1, 2 and 5 x 10^n. The SVG is self-contained and has no
 * scripts.
 *
 * Coordinates are pixels from the upper left corner. Threads: any. Write errors stay in the FILE,
 * for the caller's ferror().
 */
#ifndef KFDSHIM_CLI_OUTPUT_SVG_H
#define KFDSHIM_CLI_OUTPUT_SVG_H

#include <stdio.h>

/* Begins the file and draws the background. `style` is CSS for the plot's own classes, `dark` the
 * CSS for the same classes in dark mode. All plots have the classes title, head, name, soft, tick
 * and note for text, grid and base for lines. */
void svg_begin(FILE *out, double width, double height, const char *title, const char *style,
	       const char *dark);
/* Ends the file, which stays open. */
void svg_end(FILE *out);

/* Draws a text. Characters that XML cannot represent are replaced by '?'. `anchor`: start,
 * middle or end. */
void svg_text(FILE *out, double x, double y, const char *classes, const char *anchor,
	      const char *text);
void svg_line(FILE *out, const char *classes, double x1, double y1, double x2, double y2);

/* Returns the smallest step (1, 2 or 5 x 10^n) that divides `range`, which is above 0, into at
 * most `most` parts. */
double svg_step(double range, unsigned most);

/* A logarithmic time axis from left to right. */
struct svg_scale {
	double low, high; /* us */
	double x, width;  /* pixels */
};

/* Building a scale: svg_scale_begin() makes an empty one, svg_scale_show() adds each value that has
 * to be visible (values that are not above 0, and NAN, are ignored), and svg_scale_end() extends
 * the scale from one step below the values to one step above them. A scale without values reaches
 * from 100 us to 10 ms. */
struct svg_scale svg_scale_begin(double x, double width);
void svg_scale_show(struct svg_scale *scale, double us);
void svg_scale_end(struct svg_scale *scale);
/* Returns the x coordinate of a time. A time below scale->low is drawn at scale->low. */
double svg_scale_x(const struct svg_scale *scale, double us);
/* Draws a vertical line for each step, and its label below `bottom`. If there are more than
 * `labels` steps, only powers of ten get a label. */
void svg_scale_grid(FILE *out, const struct svg_scale *scale, double top, double bottom,
		    unsigned labels);

#endif
