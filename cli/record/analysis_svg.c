// SPDX-License-Identifier: MIT
/* The curve of the queue count of a recording, as SVG. */
#include <math.h>
#include <stdio.h>

#include "cli/output/svg.h"
#include "cli/record/analysis.h"

/* Pixels. */
#define WIDTH 960.0
#define HEIGHT 320.0
#define LEFT 64.0
#define RIGHT 24.0
#define TOP 64.0
#define BOTTOM 48.0

#define STEPS 6 /* grid steps that fit on an axis */

static const char style[] = ".line{stroke:#0e9384;stroke-width:2;fill:none}"
			    ".area{fill:#0e9384;opacity:.18}\n";
static const char dark[] = ".line{stroke:#1fb5a3}.area{fill:#1fb5a3}";

/* Maps seconds and queue counts to pixels. `top`: the count at the upper edge of the plot. */
static double x_of(const struct analysis *a, double seconds)
{
	double first = a->point[0].from, range = a->point[a->points - 1].to - first;
	double share = range > 0 ? (seconds - first) / range : 0;

	/* The times of a recording are not trusted: they may go backwards. */
	share = share < 0 ? 0 : share > 1 ? 1 : share;
	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double y_of(double queues, double top)
{
	return HEIGHT - BOTTOM - queues / top * (HEIGHT - TOP - BOTTOM);
}

/* Writes the corners of the curve: each point is a level line up to the start of the next one. */
static void steps(const struct analysis *a, double top, FILE *out)
{
	for (size_t i = 0; i < a->points; i++) {
		double end = i + 1 < a->points ? a->point[i + 1].from : a->point[i].to;
		double y = y_of((double)a->point[i].max, top);

		fprintf(out, "%.1f,%.1f %.1f,%.1f ", x_of(a, a->point[i].from), y, x_of(a, end), y);
	}
}

/* Draws a grid line for every whole step of at least one queue. */
static void queues_axis(double top, FILE *out)
{
	double step = fmax(svg_step(top, STEPS), 1);
	char text[32];

	for (double n = 0; n <= top; n += step) {
		double y = y_of(n, top);

		svg_line(out, "grid", LEFT, y, WIDTH - RIGHT, y);
		snprintf(text, sizeof(text), "%.0f", n);
		svg_text(out, LEFT - 8, y + 4, "tick", "end", text);
	}
}

/* Labels the time axis. Less than 1 us of range gets a single label. */
static void time_axis(const struct analysis *a, FILE *out)
{
	double first = a->point[0].from, range = a->point[a->points - 1].to - first;
	double step = range > 1e-6 ? svg_step(range, STEPS) : 1;
	char text[32];

	for (double s = 0; s <= range; s += step) {
		snprintf(text, sizeof(text), "%.3g s", first + s);
		svg_text(out, x_of(a, first + s), HEIGHT - BOTTOM + 20, "tick", "middle", text);
	}
}

void analysis_svg(const struct analysis *a, const char *title, FILE *out)
{
	double top = 1;

	for (size_t i = 0; i < a->points; i++)
		top = fmax(top, (double)a->point[i].max);
	svg_begin(out, WIDTH, HEIGHT, title, style, dark);
	svg_text(out, LEFT, 32, "title", "start", title);
	queues_axis(top, out);
	if (a->points > 0) {
		fprintf(out, "<polygon class=\"area\" points=\"%.1f,%.1f ", LEFT, y_of(0, top));
		steps(a, top, out);
		fprintf(out, "%.1f,%.1f\"/>\n<polyline class=\"line\" points=\"",
			x_of(a, a->point[a->points - 1].to), y_of(0, top));
		steps(a, top, out);
		fputs("\"/>\n", out);
		time_axis(a, out);
	} else {
		svg_text(out, LEFT + 16, HEIGHT / 2, "soft", "start",
			 "No sample has a number of queues.");
	}
	svg_end(out);
}
