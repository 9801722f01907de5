// SPDX-License-Identifier: MIT
#include "scheduler/cli/svg_draw.h"

#include <math.h>

void svg_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
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
			/* XML has no way to write most control characters. */
			fputc((unsigned char)*text < 0x20 ? '?' : *text, out);
		}
	}
}

void svg_text(FILE *out, double x, double y, const char *classes, const char *anchor,
	      const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, classes,
		anchor);
	svg_escaped(out, text);
	fputs("</text>\n", out);
}

void svg_line(FILE *out, const char *classes, double x1, double y1, double x2, double y2)
{
	fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		classes, x1, y1, x2, y2);
}

double svg_step_below(double value)
{
	double decade = pow(10, floor(log10(value)));

	if (value >= 5 * decade)
		return 5 * decade;
	return value >= 2 * decade ? 2 * decade : decade;
}

double svg_step_above(double step)
{
	double decade = pow(10, floor(log10(step) + 1e-9));
	double first = round(step / decade);

	return first < 2 ? 2 * decade : first < 5 ? 5 * decade : 10 * decade;
}

void svg_tick_us(FILE *out, double x, double y, double us)
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
