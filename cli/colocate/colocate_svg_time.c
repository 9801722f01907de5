// SPDX-License-Identifier: MIT
/* The lower panel of a colocate run's picture: a bar for each arm with the shares of GPU time. */
#include <math.h>
#include <stdio.h>

#include "cli/colocate/colocate_svg.h"
#include "cli/output/svg.h"

/* Pixels. */
#define NAME_X 36
#define BAR_X 176
#define BAR_W 652 /* width of 100 % */
#define BAR 24
#define ROW 40
#define HEAD 34	  /* space above the first row */
#define LEGEND 22 /* height of a line of the legend */
#define LEGEND_COLUMNS 4u
#define LEGEND_W 163
#define TEXT_PERCENT 5 /* narrowest share whose number fits into the bar */

/* Returns true if the arm has run and its times are known; on hardware most are not. */
static bool is_known(const struct colocation *run, enum arm arm)
{
	return run->arms[arm].ran && !isnan(time_percent(&run->arms[arm].time, TIME_OFFLINE));
}

/* Draws a share of a bar from `from` percent on; a share that is too narrow has no number. */
static void draw_share(FILE *out, unsigned class, double from, double percent, double middle)
{
	double x = BAR_X + BAR_W * from / 100, wide = BAR_W * percent / 100;
	char text[32];

	fprintf(out,
		"<rect class=\"time%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		"height=\"%d\"/>\n",
		class, x, middle - BAR / 2.0, wide, BAR);
	snprintf(text, sizeof(text), "%.0f %%", percent);
	if (percent >= TEXT_PERCENT)
		svg_text(out, x + wide / 2, middle + 4.5, "intime", "middle", text);
}

/* Draws the bar of an arm. Shares that are not known are one at its end. */
static void draw_bar(FILE *out, const struct colocation *run, enum arm arm, double middle)
{
	double from = 0;

	svg_text(out, NAME_X, middle + 5, "name", "start", arm_kinds[arm].name);
	for (enum time_share i = 0; i < TIME_SHARES; i++) {
		double percent = time_percent(&run->arms[arm].time, i);

		if (isnan(percent))
			continue;
		draw_share(out, i, from, percent, middle);
		from += percent;
	}
	if (arm_kinds[arm].unknown && from < 100)
		draw_share(out, TIME_SHARES, from, 100 - from, middle);
}

/* Names the first `count` classes of shares. */
static void draw_legend(FILE *out, unsigned count, double top)
{
	static const char *const names[TIME_SHARES + 1] = {
		[TIME_OFFLINE] = "offline ran",
		[TIME_ONLINE] = "online work",
		[TIME_UPDATES] = "bounces",
		[TIME_SAVE_RESTORE] = "save and restore",
		[TIME_DETECTION] = "detection",
		[TIME_HOLD_OVER] = "hold-over",
		[TIME_IDLE_HELD] = "idle, offline held",
		[TIME_OWN_GAPS] = "offline's own gaps",
		[TIME_SHARES] = "not distinguishable",
	};

	for (unsigned i = 0; i < count; i++) {
		double x = BAR_X + LEGEND_W * (i % LEGEND_COLUMNS);
		double y = top + LEGEND * (i / LEGEND_COLUMNS);

		fprintf(out,
			"<rect class=\"time%u\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" "
			"rx=\"2\"/>\n",
			i, x, y);
		svg_text(out, x + 18, y + 10.5, "soft", "start", names[i]);
	}
}

double colocate_svg_times(FILE *out, const struct colocation *run, double top)
{
	double y = top + HEAD;
	unsigned names = TIME_SHARES;

	for (unsigned i = 0; i < ARM_COUNT; i++) {
		if (!is_known(run, (enum arm)i))
			continue;
		if (out)
			draw_bar(out, run, (enum arm)i, y + ROW / 2.0);
		if (arm_kinds[i].unknown)
			names = TIME_SHARES + 1;
		y += ROW;
	}
	if (y == top + HEAD)
		return top;
	if (out) {
		svg_text(out, NAME_X, top + 14, "head", "start",
			 "Use of the GPU's time while offline clients ran");
		draw_legend(out, names, y + 8);
	}
	return y + 8 + LEGEND * ((names + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS) + 16;
}
