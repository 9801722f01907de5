// SPDX-License-Identifier: MIT
#include "cli/output/svg.h"

#include <math.h>
#include <stdbool.h>

#include "common/text.h"

static const char all_style[] =
	"text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
	"font-size:13px;fill:#1b2533}\n"
	".ground{fill:#ffffff}.grid{stroke:#e3e8ef;stroke-width:1}"
	".base{stroke:#98a4b5;stroke-width:1}\n"
	".title{font-size:19px;font-weight:600}.head{font-size:14px;font-weight:600}"
	".name{font-size:14px;font-weight:600}\n"
	".soft{fill:#5b6879}.tick{fill:#5b6879;font-size:12px}"
	".note{fill:#5b6879;font-size:12px}\n";
static const char all_dark[] = "text{fill:#e7ecf3}.ground{fill:#11161d}.grid{stroke:#28313d}"
			       ".base{stroke:#667487}.soft,.tick,.note{fill:#9aa7b8}";

/* Writes a text with the characters that XML reserves escaped. */
static void escaped(FILE *out, const char *text)
{
	uint32_t c;

	for (size_t n; *text; text += n ? n : 1) {
		n = plain_decode(text, &c);
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		default:
			/* XML cannot represent most control characters. */
			if (n && plain_is_printable(c))
				fwrite(text, 1, n, out);
			else
				fputc('?', out);
		}
	}
}

void svg_begin(FILE *out, double width, double height, const char *title, const char *style,
	       const char *dark)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
		width, height, width, height);
	escaped(out, title);
	fprintf(out,
		"</title>\n<style>\n%s%s@media (prefers-color-scheme:dark){%s\n%s}\n</style>\n",
		all_style, style, all_dark, dark);
	fprintf(out, "<rect class=\"ground\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n", width,
		height);
}

void svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}

void svg_text(FILE *out, double x, double y, const char *classes, const char *anchor,
	      const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, classes,
		anchor);
	escaped(out, text);
	fputs("</text>\n", out);
}

void svg_line(FILE *out, const char *classes, double x1, double y1, double x2, double y2)
{
	fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		classes, x1, y1, x2, y2);
}

/* Returns the largest step that is not above `value`. */
static double step_below(double value)
{
	double decade = pow(10, floor(log10(value)));

	if (value >= 5 * decade)
		return 5 * decade;
	return value >= 2 * decade ? 2 * decade : decade;
}

/* Returns the next step after `step`. */
static double step_above(double step)
{
	/* Add 1e-9 because log10() of a power of ten can be slightly too small. */
	double decade = pow(10, floor(log10(step) + 1e-9));
	double first = round(step / decade);

	return first < 2 ? 2 * decade : first < 5 ? 5 * decade : 10 * decade;
}

double svg_step(double range, unsigned most)
{
	double step = step_below(range / most);

	return range / step > most * (1 + 1e-9) ? step_above(step) : step;
}

struct svg_scale svg_scale_begin(double x, double width)
{
	return (struct svg_scale){.low = INFINITY, .x = x, .width = width};
}

void svg_scale_show(struct svg_scale *scale, double us)
{
	if (!(us > 0))
		return;
	scale->low = fmin(scale->low, us);
	scale->high = fmax(scale->high, us);
}

void svg_scale_end(struct svg_scale *scale)
{
	bool any = scale->high > 0;

	scale->low = any ? step_below(scale->low * 0.95) : 100;
	scale->high = any ? step_above(step_below(scale->high * 1.05)) : 10000;
}

double svg_scale_x(const struct svg_scale *scale, double us)
{
	double share = log(fmax(us, scale->low) / scale->low) / log(scale->high / scale->low);

	return scale->x + scale->width * share;
}

static void tick(FILE *out, double x, double y, double us)
{
	char text[32];

	if (us < 999)
		snprintf(text, sizeof(text), "%g us", us);
	else if (us < 999e3)
		snprintf(text, sizeof(text), "%g ms", us / 1e3);
	else
		snprintf(text, sizeof(text), "%g s", us / 1e6);
	svg_text(out, x, y, "tick", "middle", text);
}

void svg_scale_grid(FILE *out, const struct svg_scale *scale, double top, double bottom,
		    unsigned labels)
{
	double end = scale->high * 1.001;
	unsigned steps = 0;

	for (double us = scale->low; us <= end; us = step_above(us))
		steps++;
	for (double us = scale->low; us <= end; us = step_above(us)) {
		double x = svg_scale_x(scale, us);
		double lead = us / pow(10, floor(log10(us) + 1e-9));

		svg_line(out, "grid", x, top, x, bottom);
		if (steps <= labels || lead < 1.5)
			tick(out, x, bottom + 18, us);
	}
}
