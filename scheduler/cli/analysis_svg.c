// SPDX-License-Identifier: MIT
#include "scheduler/cli/analysis.h"

/* Pixels. */
#define WIDTH 960.0
#define HEIGHT 320.0
#define LEFT 64.0
#define RIGHT 24.0
#define TOP 64.0
#define BOTTOM 48.0

static const char style[] =
	"<style>text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
	"Sans',sans-serif;"
	"font-size:13px;fill:#1b2533}.ground{fill:#ffffff}.title{font-size:18px;font-weight:600}"
	".grid{stroke:#e3e8ef}.tick{fill:#5b6879;font-size:12px}"
	".line{stroke:#0e9384;stroke-width:2;fill:none}.area{fill:#0e9384;opacity:.18}"
	"@media (prefers-color-scheme:dark){text{fill:#e7ecf3}.ground{fill:#11161d}"
	".grid{stroke:#28313d}.tick{fill:#9aa7b8}.line{stroke:#1fb5a3}.area{fill:#1fb5a3}}"
	"</style>\n";

static void escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '&')
			fputs("&amp;", out);
		else
			/* XML has no way to write most control characters. */
			fputc(c < 0x20 || c == 0x7f ? '?' : c, out);
	}
}

/* 1, 2 or 5 times a power of ten, so that there are at most six of them. */
static double step_of(double range)
{
	double step = 1;

	while (range / step > 6)
		step *= 10;
	while (range / step < 0.6)
		step /= 10;
	if (range / (step / 5) <= 6)
		return step / 5;
	return range / (step / 2) <= 6 ? step / 2 : step;
}

static double x_of(const struct analysis *a, double seconds)
{
	double first = a->point[0].from, range = a->point[a->points - 1].to - first;
	double share = range > 0 ? (seconds - first) / range : 0;

	/* Whoever wrote the recording may have turned the clock back. */
	share = share < 0 ? 0 : share > 1 ? 1 : share;
	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double y_of(double queues, double top)
{
	return HEIGHT - BOTTOM - queues / top * (HEIGHT - TOP - BOTTOM);
}

/* A step for each point, to the begin of the next one. */
static void steps(const struct analysis *a, double top, FILE *out)
{
	for (size_t i = 0; i < a->points; i++) {
		double end = i + 1 < a->points ? a->point[i + 1].from : a->point[i].to;
		double y = y_of((double)a->point[i].max, top);

		fprintf(out, "%.1f,%.1f %.1f,%.1f ", x_of(a, a->point[i].from), y, x_of(a, end), y);
	}
}

void analysis_svg(const struct analysis *a, const char *title, FILE *out)
{
	double top = 1, step;

	for (size_t i = 0; i < a->points; i++)
		if ((double)a->point[i].max > top)
			top = (double)a->point[i].max;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	fputs(style, out);
	fprintf(out, "<rect class=\"ground\" width=\"%.0f\" height=\"%.0f\"/>\n", WIDTH, HEIGHT);
	fprintf(out, "<text class=\"title\" x=\"%.0f\" y=\"32\">", LEFT);
	escaped(out, title);
	fputs("</text>\n", out);
	step = step_of(top) < 1 ? 1 : step_of(top);
	for (double n = 0; n <= top; n += step) {
		double y = y_of(n, top);

		fprintf(out,
			"<line class=\"grid\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\"/>"
			"<text class=\"tick\" x=\"%.0f\" y=\"%.1f\" "
			"text-anchor=\"end\">%.0f</text>\n",
			LEFT, y, WIDTH - RIGHT, y, LEFT - 8, y + 4, n);
	}
	if (a->points > 0) {
		double first = a->point[0].from, range = a->point[a->points - 1].to - first;

		fprintf(out, "<polygon class=\"area\" points=\"%.1f,%.1f ", LEFT, y_of(0, top));
		steps(a, top, out);
		fprintf(out, "%.1f,%.1f\"/>\n<polyline class=\"line\" points=\"",
			x_of(a, first + range), y_of(0, top));
		steps(a, top, out);
		fputs("\"/>\n", out);
		step = range > 1e-6 ? step_of(range) : 1;
		for (double s = 0; s <= range; s += step)
			fprintf(out,
				"<text class=\"tick\" x=\"%.1f\" y=\"%.0f\" "
				"text-anchor=\"middle\">%.3g s</text>\n",
				x_of(a, first + s), HEIGHT - BOTTOM + 20, first + s);
	} else {
		fprintf(out,
			"<text x=\"%.0f\" y=\"%.0f\">There is no sample that knew how "
			"many.</text>\n",
			LEFT + 16, HEIGHT / 2);
	}
	fputs("</svg>\n", out);
}
