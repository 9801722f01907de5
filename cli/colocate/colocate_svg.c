// SPDX-License-Identifier: MIT
/* Draws the result of a colocate run as SVG: two panels side by side, and one below. */
#include "cli/colocate/result.h"

#include "cli/output/svg.h"

/* Layout of the two upper panels, in pixels. Each has one row per arm (a compared
 * configuration). */
#define WIDTH 960
#define MARGIN 36
#define TOP 150 /* upper edge of the first row */
#define ROW 76
#define BAR 24
#define LEFT_X 176 /* left edge of the left panel's plot, after its labels */
#define LEFT_W 344
#define LEFT_LABELS 6 /* axis labels that fit below the plot */
#define RIGHT_X 636
#define RIGHT_W 192 /* width of 100 % */
#define RIGHT_NAME_X 568

/* N in class timeN is the number of the share in enum time_share, or TIME_SHARES for shares of
 * which only the sum is known. */
static const char style[] =
	".wrong{fill:#b42318;font-weight:600}\n"
	".alone{fill:#7c8aa0}.shared{fill:#d97a1e}.trap{fill:#0e9384}"
	".self{fill:#3f6fb0}.gate{fill:#8e5bb5}.peers{fill:#b08a16}\n"
	".mark{stroke:#1b2533;stroke-width:3;stroke-linecap:round}\n"
	".spread{stroke:#1b2533;stroke-width:1.5}\n"
	".floor{stroke:#b42318;stroke-width:1.5;stroke-dasharray:5 4}.floortext{fill:#b42318;"
	"font-size:12px}\n"
	".inbar{fill:#ffffff;font-weight:600}"
	".time0{fill:#0e9384}.time1{fill:#7c8aa0}.time2{fill:#b42318}.time3{fill:#d97a1e}"
	".time4{fill:#8e5bb5}.time5{fill:#b08a16}.time6{fill:#3f6fb0}.time7{fill:#c3cbd6}.time8{fill:#5d6b80}"
	".intime{fill:#ffffff;font-size:12px;font-weight:600}"
	".beside{paint-order:stroke;stroke:#ffffff;stroke-width:5px;stroke-linejoin:round}\n";
static const char dark[] =
	".wrong,.floortext{fill:#ff8a80}.floor{stroke:#ff8a80}.mark,.spread{stroke:#f4f7fb}"
	".alone{fill:#8796ad}.shared{fill:#e58a32}.trap{fill:#1fb5a3}.self{fill:#6f9fdd}.gate{fill:#b48ad6}.peers{fill:#d3ad3d}.inbar{fill:#14110c}"
	".beside{stroke:#11161d}"
	".time0{fill:#1fb5a3}.time1{fill:#8796ad}.time2{fill:#ff8a80}.time3{fill:#e58a32}"
	".time4{fill:#b48ad6}.time5{fill:#d3ad3d}.time6{fill:#6f9fdd}.time7{fill:#465064}.time8{fill:#5d6b80}"
	".intime{fill:#14110c}";

/* Finds a logarithmic scale for all latencies that are shown. An arm that does not keep up has no
 * meaningful percentiles, so its latencies are left out. */
static struct svg_scale find_scale(const struct colocation *run,
				   const struct result_verdict *verdict)
{
	struct svg_scale scale = svg_scale_begin(LEFT_X, LEFT_W);

	for (unsigned i = 0; i < ARM_COUNT; i++) {
		const struct online_stats *online = &run->arms[i].online;

		if (!run->arms[i].ran || !online->keeps_up || !(online->p50_us > 0))
			continue;
		svg_scale_show(&scale, online->p50_us);
		svg_scale_show(&scale, online->p99_us);
		if (run->seeds > 1)
			svg_scale_show(&scale, run->spread[i].p99_us.high);
	}
	for (unsigned i = 0; scale.high > 0 && i < ARM_COUNT; i++)
		svg_scale_show(&scale, verdict->floor_us[i]);
	svg_scale_end(&scale);
	return scale;
}

#define CAP 5 /* half the height of the caps at both ends of a spread line */

/* Draws a line with caps from the lowest to the highest result of the seeds. */
static void draw_spread(FILE *out, const struct colocation *run, double from, double to, double y)
{
	if (run->seeds < 2 || isnan(from) || isnan(to))
		return;
	svg_line(out, "spread", from, y, to, y);
	svg_line(out, "spread", from, y - CAP, from, y + CAP);
	svg_line(out, "spread", to, y - CAP, to, y + CAP);
}

/* Draws the bar of an arm (a compared configuration) that does not keep up: an arrow to the right
 * edge. */
static void open_bar(FILE *out, const struct colocation *run, const struct svg_scale *scale,
		     enum arm arm, double middle)
{
	const struct arm_stats *alone = &run->arms[ARM_ALONE];
	double right = LEFT_X + LEFT_W;
	/* An arm that does not keep up has no P50. It cannot be faster than ARM_ALONE, so its bar
	 * begins at the P50 of ARM_ALONE, and ends as an arrow because the latency grows without
	 * bound. */
	double x = alone->ran && alone->online.keeps_up && alone->online.p50_us > 0
			   ? svg_scale_x(scale, alone->online.p50_us)
			   : LEFT_X;

	fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1f H%.1f L%.1f %.1f L%.1f %.1f H%.1f Z\"/>\n",
		arm_kinds[arm].name, x, middle - BAR / 2.0, right - 4, right + 10, middle,
		right - 4, middle + BAR / 2.0, x);
	svg_text(out, (x + right) / 2, middle + 4.5, "inbar", "middle", "does not keep up");
}

/* Draws the latency of an arm (a compared configuration): a bar from P50 to P99, and below it the
 * spread of P99 over the seeds. */
static void left_row(FILE *out, const struct colocation *run, const struct svg_scale *scale,
		     enum arm arm, double middle)
{
	const struct online_stats *online = &run->arms[arm].online;
	char text[64], figure[QUANTITY_BYTES];

	if (!online->keeps_up) {
		svg_text(out, MARGIN, middle - 3, "name", "start", arm_kinds[arm].name);
		svg_text(out, MARGIN, middle + 14, "soft", "start", "its backlog grows");
		open_bar(out, run, scale, arm, middle);
		return;
	}
	svg_text(out, MARGIN, middle - 12, "name", "start", arm_kinds[arm].name);
	snprintf(text, sizeof(text), "P50 %s", quantity_us(figure, online->p50_us));
	svg_text(out, MARGIN, middle + 6, "soft", "start", text);
	snprintf(text, sizeof(text), "P99 %s", quantity_us(figure, online->p99_us));
	svg_text(out, MARGIN, middle + 23, "soft", "start", text);
	if (!(online->p50_us > 0))
		return;
	double from = svg_scale_x(scale, online->p50_us), to = svg_scale_x(scale, online->p99_us);

	fprintf(out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
		"rx=\"3\"/>\n",
		arm_kinds[arm].name, from, middle - BAR / 2.0, fmax(to - from, 2), BAR);
	svg_line(out, "mark", to, middle - BAR / 2.0 - 4, to, middle + BAR / 2.0 + 4);
	draw_spread(out, run, svg_scale_x(scale, run->spread[arm].p99_us.low),
		    svg_scale_x(scale, run->spread[arm].p99_us.high), middle + BAR / 2.0 + 12);
}

/* Draws the rows of the arms (compared configurations) whose online clients keep up (`keeps_up`
 * true) or do not (false). Leaves the rows of the other arms empty. */
static void left_rows(FILE *out, const struct colocation *run, const struct svg_scale *scale,
		      bool keeps_up)
{
	unsigned row = 0;

	for (unsigned i = 0; i < ARM_COUNT; i++) {
		if (!run->arms[i].ran)
			continue;
		if (run->arms[i].online.keeps_up == keeps_up)
			left_row(out, run, scale, (enum arm)i, TOP + ROW * (row + 0.5));
		row++;
	}
}

/* Draws a line over all rows at the floor, the lowest P99 that any preemption could reach: the P99
 * of ARM_ALONE, two bounces (runlist updates) and a save. */
static void draw_floor(FILE *out, const struct result_verdict *verdict,
		       const struct svg_scale *scale, double floor_us, double bottom)
{
	char text[96], figure[QUANTITY_BYTES];
	double x = svg_scale_x(scale, floor_us);

	svg_line(out, "floor", x, TOP - 14, x, bottom);
	snprintf(text, sizeof(text), "floor: alone P99 + 2 bounces%s = %s",
		 isnan(verdict->save_us) ? "" : " + save", quantity_us(figure, floor_us));
	/* Keep the text, about 250 pixels wide, inside the panel. */
	svg_text(out, fmin(fmax(x, LEFT_X + 100), LEFT_X + LEFT_W - 110), TOP - 20, "floortext",
		 "middle", text);
}

/* Draws the floor (the lowest possible P99). It is equal in all arms with arm_kind.preempts, so
 * they share one line through the panel; any other arm with a floor has a line in its own row. */
static void draw_floors(FILE *out, const struct colocation *run,
			const struct result_verdict *verdict, const struct svg_scale *scale,
			double bottom)
{
	bool drawn = false;
	unsigned row = 0;

	for (unsigned i = 0; i < ARM_COUNT; row += run->arms[i].ran, i++) {
		double floor_us = verdict->floor_us[i], top = TOP + ROW * row;

		if (isnan(floor_us) || (arm_kinds[i].preempts && drawn))
			continue;
		if (arm_kinds[i].preempts)
			draw_floor(out, verdict, scale, floor_us, bottom);
		else
			svg_line(out, "floor", svg_scale_x(scale, floor_us), top,
				 svg_scale_x(scale, floor_us), top + ROW);
		drawn |= arm_kinds[i].preempts;
	}
}

/* Draws the offline throughput of an arm (a compared configuration). `full`: steps that fill the
 * panel's width. */
static void right_row(FILE *out, const struct colocation *run, const struct result_verdict *verdict,
		      enum arm arm, double full, double middle)
{
	double steps = run->arms[arm].offline.steps;
	double wide = full > 0 ? RIGHT_W * steps / full : 0;
	char text[64];

	svg_text(out, RIGHT_NAME_X, middle + 5, "name", "start", arm_kinds[arm].name);
	fprintf(out,
		"<rect class=\"%s\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"3\"/>\n",
		arm_kinds[arm].name, RIGHT_X, middle - BAR / 2.0, fmax(wide, 1), BAR);
	if (full > 0)
		draw_spread(out, run, RIGHT_X + RIGHT_W * run->spread[arm].steps.low / full,
			    RIGHT_X + RIGHT_W * run->spread[arm].steps.high / full,
			    middle + BAR / 2.0 + 12);
	if (isnan(verdict->of_alone[arm])) {
		snprintf(text, sizeof(text), "%.3g steps", steps);
		svg_text(out, RIGHT_X + wide + 10, middle + 5, "soft beside", "start", text);
		return;
	}
	snprintf(text, sizeof(text), "%.0f %%", 100 * verdict->of_alone[arm]);
	svg_text(out, RIGHT_X + wide + 10, middle - 2, "name beside", "start", text);
	snprintf(text, sizeof(text), "%.3g steps", steps);
	svg_text(out, RIGHT_X + wide + 10, middle + 14, "soft beside", "start", text);
}

/* Marks the offline throughput that a scheduler with knowledge of all arrivals could reach. */
static void draw_possible(FILE *out, const struct result_verdict *verdict, double alone_width,
			  double bottom)
{
	double x = RIGHT_X + alone_width * verdict->possible.share;
	char text[64];

	if (isnan(verdict->possible.share))
		return;
	snprintf(text, sizeof(text), "possible: %.0f %%", 100 * verdict->possible.share);
	svg_line(out, "floor", x, TOP - 14, x, bottom);
	svg_text(out, x, TOP - 20, "floortext", "middle", text);
}

/* Draws the offline throughput: in percent of ARM_ALONE, if that has run, otherwise in steps. */
static void right_panel(FILE *out, const struct colocation *run,
			const struct result_verdict *verdict, double bottom)
{
	bool shares = run->arms[ARM_ALONE].ran;
	double full = 0, most = 0;
	unsigned row = 0;

	for (unsigned i = 0; i < ARM_COUNT; i++)
		if (run->arms[i].ran)
			most = fmax(most, run->arms[i].offline.steps);
	/* Noise can lift the offline throughput of an arm (a configuration) a little above 100 %,
	 * and its bar must stay inside the panel. */
	full = shares ? fmax(run->arms[ARM_ALONE].offline.steps, most / 1.05) : most;
	for (unsigned percent = 0; shares && full > 0 && percent <= 100; percent += 50) {
		double x = RIGHT_X + RIGHT_W * percent / 100.0 *
					     run->arms[ARM_ALONE].offline.steps /
					     (full > 0 ? full : 1);
		char text[16];

		snprintf(text, sizeof(text), "%u %%", percent);
		svg_line(out, "grid", x, TOP - 8, x, bottom);
		svg_text(out, x, bottom + 18, "tick", "middle", text);
	}
	svg_line(out, "base", RIGHT_X, TOP - 8, RIGHT_X, bottom);
	for (unsigned i = 0; i < ARM_COUNT; i++)
		if (run->arms[i].ran)
			right_row(out, run, verdict, (enum arm)i, full, TOP + ROW * (row++ + 0.5));
	if (shares && full > 0)
		draw_possible(out, verdict, RIGHT_W * run->arms[ARM_ALONE].offline.steps / full,
			      bottom);
}

/* Layout of the lower panel, in pixels. */
#define TIME_W 652 /* width of 100 % */
#define TIME_ROW 40
#define HEAD 34	  /* space above the first row */
#define LEGEND 22 /* height of a line of the legend */
#define LEGEND_COLUMNS 4u
#define LEGEND_W 163
#define TEXT_PERCENT 5 /* narrowest share whose number fits into the bar */

/* Returns true if the arm (a compared configuration) has run and its times are known; on hardware
 * most are not. */
static bool is_known(const struct colocation *run, enum arm arm)
{
	return run->arms[arm].ran && !isnan(time_percent(&run->arms[arm].time, TIME_OFFLINE));
}

/* Draws a share of a bar from `from` percent on; a share that is too narrow has no number. */
static void draw_share(FILE *out, unsigned class, double from, double percent, double middle)
{
	double x = LEFT_X + TIME_W * from / 100, wide = TIME_W * percent / 100;
	char text[32];

	fprintf(out,
		"<rect class=\"time%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		"height=\"%d\"/>\n",
		class, x, middle - BAR / 2.0, wide, BAR);
	snprintf(text, sizeof(text), "%.0f %%", percent);
	if (percent >= TEXT_PERCENT)
		svg_text(out, x + wide / 2, middle + 4.5, "intime", "middle", text);
}

/* Draws the bar of an arm (a compared configuration). Shares of which only the sum is known are
 * drawn as one share at the end of the bar. */
static void draw_bar(FILE *out, const struct colocation *run, enum arm arm, double middle)
{
	double from = 0;

	svg_text(out, MARGIN, middle + 5, "name", "start", arm_kinds[arm].name);
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

/* Draws the legend: the colours and names of the first `count` shares (CSS classes timeN). */
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
		double x = LEFT_X + LEGEND_W * (i % LEGEND_COLUMNS);
		double y = top + LEGEND * (i / LEGEND_COLUMNS);

		fprintf(out,
			"<rect class=\"time%u\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" "
			"rx=\"2\"/>\n",
			i, x, y);
		svg_text(out, x + 18, y + 10.5, "soft", "start", names[i]);
	}
}

/* Draws the lower panel, one bar for each arm (a compared configuration), with its upper edge at y
 * = `top`. Draws nothing if `out` is NULL, so that the panel's height can be measured first.
 * Returns y of the lower edge; `top` if the times are not known in any arm. */
static double draw_times(FILE *out, const struct colocation *run, double top)
{
	double y = top + HEAD;
	unsigned names = TIME_SHARES;

	for (unsigned i = 0; i < ARM_COUNT; i++) {
		if (!is_known(run, (enum arm)i))
			continue;
		if (out)
			draw_bar(out, run, (enum arm)i, y + TIME_ROW / 2.0);
		if (arm_kinds[i].unknown)
			names = TIME_SHARES + 1;
		y += TIME_ROW;
	}
	if (y == top + HEAD)
		return top;
	if (out) {
		svg_text(out, MARGIN, top + 14, "head", "start",
			 "Use of the GPU's time while offline clients ran");
		draw_legend(out, names, y + 8);
	}
	return y + 8 + LEGEND * ((names + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS) + 16;
}

/* Draws titles and subtitles. `names`: second line of the title; NULL: none. */
static void headings(FILE *out, const struct colocation *run, const struct result_verdict *verdict,
		     const char *title, const char *names)
{
	char text[256], arrivals[96];

	svg_text(out, MARGIN, 44, "title", "start", title);
	snprintf(text, sizeof(text), "online: %s; offline: closed loop; %g s%s a window%s",
		 result_arrivals(run, arrivals, sizeof(arrivals)), run->seconds,
		 run->is_virtual ? "" : " (wall)",
		 run->seeds > 1 ? "; thin lines: lowest to highest seed" : "");
	svg_text(out, MARGIN, 67, "soft", "start", text);
	if (names)
		svg_text(out, MARGIN, 84, "soft", "start", names);
	if (verdict->validity == RESULT_INVALID)
		svg_text(out, WIDTH - MARGIN, 67, "wrong", "end",
			 "INVALID RUN: see the report for the reason");
	snprintf(text, sizeof(text), "Online latency, P50 to P99%s",
		 run->simulated ? " (model time, log scale)" : " (log scale)");
	svg_text(out, MARGIN, 104, "head", "start", text);
	svg_text(out, RIGHT_NAME_X, 104, "head", "start",
		 run->arms[ARM_ALONE].ran ? "Offline throughput, share of alone"
					  : "Offline steps in the window");
}

void colocate_svg(const struct colocation *run, const struct result_verdict *verdict, FILE *out)
{
	struct svg_scale scale = find_scale(run, verdict);
	unsigned rows = 0;
	bool several = run->online_clients.count > 1 || run->offline_clients.count > 1;
	char names[2100], title[64], conditions[256], note[320];

	for (unsigned i = 0; i < ARM_COUNT; i++)
		rows += run->arms[i].ran;
	double bottom = TOP + ROW * rows, end = draw_times(NULL, run, bottom + 44);

	snprintf(names, sizeof(names), "%s beside %s", run->online, run->offline);
	snprintf(title, sizeof(title), "%u online beside %u offline clients",
		 run->online_clients.count, run->offline_clients.count);
	svg_begin(out, WIDTH, end + 28, several ? title : names, style, dark);
	headings(out, run, verdict, several ? title : names, several ? names : NULL);
	svg_scale_grid(out, &scale, TOP - 8, bottom, LEFT_LABELS);
	svg_line(out, "base", LEFT_X, bottom, LEFT_X + LEFT_W, bottom);
	/* The floor line is drawn over the bars of arms that keep up, but under the bars of those
	 * that do not, whose text it would cross. */
	left_rows(out, run, &scale, true);
	draw_floors(out, run, verdict, &scale, bottom);
	left_rows(out, run, &scale, false);
	right_panel(out, run, verdict, bottom);
	result_conditions(run, verdict, conditions, sizeof(conditions));
	snprintf(note, sizeof(note), "%s%s", run->simulated ? "simulated GPU: " : "", conditions);
	draw_times(out, run, bottom + 44);
	svg_text(out, MARGIN, end + 8, "note", "start", note);
	svg_end(out);
}
