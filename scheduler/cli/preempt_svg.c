// SPDX-License-Identifier: MIT
/* What preempting took, as curves: how many of the rounds took at most so long. */
#include <math.h>
#include <stdio.h>

#include "scheduler/cli/preempt.h"
#include "scheduler/cli/svg_draw.h"
#include "scheduler/cli/table.h"

#define WIDTH 860
#define HEIGHT 480
#define LEFT 70
#define RIGHT 40
#define TOP 120
#define BOTTOM 420
#define POINTS 400 /* of a curve at most */

struct scale {
	double low, high; /* us */
};

static const char style[] =
	"<style>\n"
	"text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
	"font-size:13px;fill:#1b2533}\n"
	".ground{fill:#ffffff}.grid{stroke:#e3e8ef}.soft,.tick{fill:#5b6879}"
	".title{font-size:19px;font-weight:600}.name{font-weight:600}\n"
	".curve{fill:none;stroke-width:2}.suspend{stroke:#d97a1e}.resume{stroke:#0e9384}"
	".dot{stroke-width:2;fill:none}\n"
	"@media (prefers-color-scheme:dark){text{fill:#e7ecf3}.ground{fill:#11161d}"
	".grid{stroke:#28313d}.soft,.tick{fill:#9aa7b8}.suspend{stroke:#e58a32}"
	".resume{stroke:#1fb5a3}}\n"
	"</style>\n";

static void widen(struct scale *scale, double us)
{
	if (!(us > 0))
		return;
	scale->low = fmin(scale->low, us);
	scale->high = fmax(scale->high, us);
}

static struct scale find_scale(const struct preempt_result *result,
			       const struct preempt_figures *figures)
{
	struct scale scale = {INFINITY, 0};

	widen(&scale, figures->suspend.min);
	widen(&scale, figures->suspend.max);
	widen(&scale, figures->resume.min);
	widen(&scale, figures->resume.max);
	if (result->done) {
		widen(&scale, result->rounds[0].suspend_us);
		widen(&scale, result->rounds[0].resume_us);
	}
	if (!(scale.high > 0))
		return (struct scale){100, 10000};
	return (struct scale){svg_step_below(scale.low * 0.95),
			      svg_step_above(svg_step_below(scale.high * 1.05))};
}

static double at(const struct scale *scale, double us)
{
	double share = log(fmax(us, scale->low) / scale->low) / log(scale->high / scale->low);

	return LEFT + (WIDTH - LEFT - RIGHT) * share;
}

static double height_of(double share)
{
	return BOTTOM - (BOTTOM - TOP) * share;
}

static void grid(FILE *out, const struct scale *scale)
{
	/* A dozen labels have room. */
	bool decades = scale->high / scale->low > 5000;
	char text[16];

	for (double us = scale->low; us <= scale->high * 1.001; us = svg_step_above(us)) {
		double lead = us / pow(10, floor(log10(us) + 1e-9));

		svg_line(out, "grid", at(scale, us), TOP, at(scale, us), BOTTOM);
		if (!decades || lead < 1.5)
			svg_tick_us(out, at(scale, us), BOTTOM + 18, us);
	}
	for (unsigned percent = 0; percent <= 100; percent += 25) {
		double y = height_of(percent / 100.0);

		svg_line(out, "grid", LEFT, y, WIDTH - RIGHT, y);
		snprintf(text, sizeof(text), "%u %%", percent);
		svg_text(out, LEFT - 8, y + 4, "soft", "end", text);
	}
}

/* A step at each round; of many rounds, at so many ranks. */
static void curve(FILE *out, const struct scale *scale, const char *name,
		  const struct preempt_times *times)
{
	unsigned points = times->count < POINTS ? times->count : POINTS;

	if (!points)
		return;
	fprintf(out, "<path class=\"curve %s\" d=\"M%.1f %.1f", name, at(scale, times->min),
		height_of(0));
	for (unsigned i = 1; i <= points; i++) {
		unsigned rank = (unsigned)((unsigned long)i * times->count / points);

		fprintf(out, " H%.1f V%.1f", at(scale, times->sorted[rank - 1]),
			height_of((double)rank / times->count));
	}
	fputs("\"/>\n", out);
}

static void first(FILE *out, const struct scale *scale, const char *name, double us)
{
	fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%d\" r=\"5\"/>\n", name,
		at(scale, us), TOP - 14);
}

static void legend(FILE *out, double x, const char *name, const struct preempt_times *times)
{
	char text[160], p50[QUANTITY_BYTES], p99[QUANTITY_BYTES], max[QUANTITY_BYTES];

	fprintf(out, "<path class=\"curve %s\" d=\"M%.1f 82 h24\"/>\n", name, x);
	svg_text(out, x + 32, 86, "name", "start", name);
	snprintf(text, sizeof(text), "P50 %s, P99 %s, at most %s", quantity_us(p50, times->p50),
		 quantity_us(p99, times->p99), quantity_us(max, times->max));
	svg_text(out, x + 96, 86, "soft", "start", text);
}

void preempt_svg(const struct preempt_job *job, const struct preempt_result *result,
		 const struct preempt_figures *figures, FILE *out)
{
	struct scale scale = find_scale(result, figures);
	char text[256], hold[QUANTITY_BYTES], pause[QUANTITY_BYTES];

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" role=\"img\">\n%s"
		"<rect class=\"ground\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT);
	snprintf(text, sizeof(text), "Preempting %s (process %d): %u of %u rounds",
		 job->target.name, (int)job->target.pid, result->done, job->times);
	svg_text(out, LEFT - 34, 34, "title", "start", text);
	snprintf(text, sizeof(text), "by %s; held for %s, with %s between%s",
		 job->daemon_pid ? "kfdschedd" : "a debug session", quantity_us(hold, job->hold_us),
		 quantity_us(pause, job->pause_us), job->simulated ? "; simulated GPU" : "");
	svg_text(out, LEFT - 34, 56, "soft", "start", text);
	grid(out, &scale);
	curve(out, &scale, "suspend", &figures->suspend);
	curve(out, &scale, "resume", &figures->resume);
	if (result->done) {
		first(out, &scale, "suspend", result->rounds[0].suspend_us);
		first(out, &scale, "resume", result->rounds[0].resume_us);
	}
	legend(out, LEFT, "suspend", &figures->suspend);
	legend(out, LEFT + 390, "resume", &figures->resume);
	svg_text(out, (LEFT + WIDTH - RIGHT) / 2.0, BOTTOM + 44, "soft", "middle",
		 "Share of rounds that took at most so long (log scale); circles: the first round, "
		 "which is not among them");
	fputs("</svg>\n", out);
}
