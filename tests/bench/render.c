// SPDX-License-Identifier: MIT
/*
 * bench_show DIRECTORY FILE.json...: prints the figures of all benchmarks as one table on stdout,
 * and writes a plot DIRECTORY/NAME.svg for each benchmark. The plot has the distributions as curves
 * (share of the samples below a value, on a logarithmic axis), and the bounded figures as bars
 * beside their bounds. The exit status is 1 if a bound is exceeded.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/fields.h"
#include "cli/output/svg.h"

#define WIDTH 860
#define LEFT 70
#define RIGHT 30
#define TOP 60
#define CURVES 300 /* height of the panel of curves, in px */
#define ROW 44
#define COLOURS 4

static const char *const colours[COLOURS] = {"#0e9384", "#d97a1e", "#7c8aa0", "#8b5cf6"};
static const char style[] = ".series0{fill:#0e9384}.series1{fill:#d97a1e}.series2{fill:#7c8aa0}"
			    ".series3{fill:#8b5cf6}\n"
			    ".wrong{fill:#b42318;font-weight:600}"
			    ".bound{stroke:#1b2533;stroke-width:2}\n";
static const char dark[] = ".bound{stroke:#e7ecf3}";

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static bool bounded(const json_t *figure)
{
	return json_is_string(json_object_get(figure, "bound"));
}

static bool is_met(const json_t *figure)
{
	double value = number_of(figure, "value"), limit = number_of(figure, "limit");

	if (!bounded(figure))
		return true;
	return strcmp(text_of(figure, "bound"), "at_most") ? value >= limit : value <= limit;
}

/* Computes the decades that contain all samples of all series. */
static void range_of(const json_t *series, double *low, double *high)
{
	size_t i, k;
	json_t *one, *point;

	*low = INFINITY;
	*high = -INFINITY;
	json_array_foreach(series, i, one)
		json_array_foreach(json_object_get(one, "ranks"), k, point)
	{
		double value = json_number_value(point);

		if (value <= 0)
			continue;
		*low = fmin(*low, value);
		*high = fmax(*high, value);
	}
	*low = floor(log10(*low));
	*high = ceil(log10(*high));
	if (!(*high > *low))
		*high = *low + 1;
}

static void grid(FILE *out, double low, double high, const char *unit)
{
	double width = WIDTH - LEFT - RIGHT;
	char label[64];

	for (double d = low; d <= high; d++) {
		double x = LEFT + (d - low) / (high - low) * width;

		svg_line(out, "grid", x, TOP, x, TOP + CURVES);
		snprintf(label, sizeof label, "%g%s%s", pow(10, d), d == high ? " " : "",
			 d == high ? unit : "");
		svg_text(out, x, TOP + CURVES + 18, "tick", "middle", label);
	}
	for (int share = 0; share <= 100; share += 25) {
		double y = TOP + CURVES - CURVES * share / 100.0;

		svg_line(out, "grid", LEFT, y, WIDTH - RIGHT, y);
		snprintf(label, sizeof label, "%d %%", share);
		svg_text(out, LEFT - 8, y + 4, "soft", "end", label);
	}
}

static void curves(FILE *out, const json_t *series)
{
	double low, high, width = WIDTH - LEFT - RIGHT;
	json_t *one, *point;
	size_t i, k;

	range_of(series, &low, &high);
	grid(out, low, high, text_of(json_array_get(series, 0), "unit"));
	json_array_foreach(series, i, one)
	{
		const json_t *ranks = json_object_get(one, "ranks");
		char classes[32];

		fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
			colours[i % COLOURS]);
		json_array_foreach(ranks, k, point)
		{
			double value = fmax(json_number_value(point), pow(10, low));

			fprintf(out, "%.1f,%.1f ",
				LEFT + (log10(value) - low) / (high - low) * width,
				TOP + CURVES -
					CURVES * (double)k / (double)(json_array_size(ranks) - 1));
		}
		fputs("\"/>\n", out);
		snprintf(classes, sizeof classes, "name series%zu", i % COLOURS);
		svg_text(out, LEFT + 200.0 * (double)i, TOP - 9, classes, "start",
			 text_of(one, "name"));
	}
}

/* Draws a figure. The full width of a bar is twice the bound. */
static void bar(FILE *out, double y, const json_t *figure)
{
	double width = WIDTH - LEFT - RIGHT, share, limit = number_of(figure, "limit");
	char label[256];

	snprintf(label, sizeof label, "%s: %.4g %s", text_of(figure, "name"),
		 number_of(figure, "value"), text_of(figure, "unit"));
	if (bounded(figure))
		snprintf(label + strlen(label), sizeof label - strlen(label), " (%s %g)",
			 strcmp(text_of(figure, "bound"), "at_most") ? "at least" : "at most",
			 limit);
	svg_text(out, LEFT, y + 12, is_met(figure) ? "" : "wrong", "start", label);
	if (!bounded(figure) || limit <= 0)
		return;
	share = fmin(fmax(number_of(figure, "value") / limit / 2, 0), 1);
	fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>\n", LEFT,
		y + 18, share * width, is_met(figure) ? colours[0] : "#b42318");
	svg_line(out, "bound", LEFT + width / 2, y + 15, LEFT + width / 2, y + 33);
}

static void plot(FILE *out, const json_t *bench)
{
	const json_t *series = json_object_get(bench, "series");
	const json_t *values = json_object_get(bench, "figures");
	double y = TOP + (json_array_size(series) ? CURVES + 50 : 0);
	double height = y + ROW * (double)json_array_size(values) + 20;
	json_t *figure;
	size_t i;

	svg_begin(out, WIDTH, height, text_of(bench, "title"), style, dark);
	svg_text(out, LEFT, 32, "title", "start", text_of(bench, "title"));
	if (json_array_size(series))
		curves(out, series);
	json_array_foreach(values, i, figure) bar(out, y + ROW * (double)i, figure);
	svg_end(out);
}

static int show(struct table *table, const char *directory, const char *path, bool *all_met)
{
	json_error_t error;
	json_t *bench = json_load_file(path, 0, &error), *figure;
	char name[4096];
	size_t i;
	FILE *out;

	if (!bench) {
		fprintf(stderr, "bench_show: %s:%d: %s\n", path, error.line, error.text);
		return 1;
	}
	json_array_foreach(json_object_get(bench, "figures"), i, figure)
	{
		table_row(table);
		table_cell(table, "%s", text_of(bench, "name"));
		table_cell(table, "%s", text_of(figure, "name"));
		table_cell(table, "%.4g", number_of(figure, "value"));
		table_cell(table, "%s", text_of(figure, "unit"));
		if (bounded(figure))
			table_cell(table, "%s %g",
				   strcmp(text_of(figure, "bound"), "at_most") ? ">=" : "<=",
				   number_of(figure, "limit"));
		else
			table_cell(table, "-");
		table_cell(table, "%s",
			   !bounded(figure) ? ""
			   : is_met(figure) ? "kept"
					    : "NOT KEPT");
		*all_met = *all_met && is_met(figure);
	}
	snprintf(name, sizeof name, "%s/%s.svg", directory, text_of(bench, "name"));
	out = fopen(name, "we");
	if (out) {
		plot(out, bench);
		fclose(out);
	} else {
		fprintf(stderr, "bench_show: cannot write %s (%s)\n", name, strerror(errno));
	}
	json_decref(bench);
	return !out;
}

int main(int argc, char **argv)
{
	struct table *table = table_new("<benchmark|<figure|value|<unit|<bound|<");
	bool all_met = true;
	int bad = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: bench_show FOLDER FILE.json...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		bad |= show(table, argv[1], argv[i], &all_met);
	table_print(table, stdout);
	return bad || !all_met;
}
