// SPDX-License-Identifier: MIT
/* Plot of "kfdsched preempt": the share of the rounds that took at most a given time. */
#include <stdio.h>

#include "cli/output/svg.h"
#include "cli/output/table.h"
#include "cli/preempt/preempt.h"

#define WIDTH 860
#define HEIGHT 480
#define LEFT 70
#define RIGHT 40
#define TOP 136
#define BOTTOM 420
#define LABELS 12  /* labels that fit below the axis */
#define POINTS 400 /* limit of the points of a curve */

static const char style[] =
	".curve{fill:none;stroke-width:2}.suspend{stroke:#d97a1e}.resume{stroke:#0e9384}"
	".held{stroke:#3b6fd4}.outside{stroke:#b0389a}"
	".dot{stroke-width:2;fill:none}\n";
static const char dark[] =
	".suspend{stroke:#e58a32}.resume{stroke:#1fb5a3}.held{stroke:#6c9bf0}.outside{stroke:#d765c3}";

static void show_range(struct svg_scale *scale, const struct preempt_times *times)
{
	svg_scale_show(scale, times->min);
	svg_scale_show(scale, times->max);
}

static struct svg_scale find_scale(const struct preempt_result *result,
				   const struct preempt_stats *stats)
{
	struct svg_scale scale = svg_scale_begin(LEFT, WIDTH - LEFT - RIGHT);

	show_range(&scale, &stats->suspend);
	show_range(&scale, &stats->resume);
	if (result->done) {
		svg_scale_show(&scale, result->rounds[0].suspend_us);
		svg_scale_show(&scale, result->rounds[0].resume_us);
	}
	show_range(&scale, &stats->online_held);
	show_range(&scale, &stats->online_outside);
	svg_scale_end(&scale);
	return scale;
}

/* The y coordinate of a share of the rounds. */
static double height_of(double share)
{
	return BOTTOM - (BOTTOM - TOP) * share;
}

static void grid(FILE *out, const struct svg_scale *scale)
{
	char text[16];

	svg_scale_grid(out, scale, TOP, BOTTOM, LABELS);
	for (unsigned percent = 0; percent <= 100; percent += 25) {
		double y = height_of(percent / 100.0);

		svg_line(out, "grid", LEFT, y, WIDTH - RIGHT, y);
		snprintf(text, sizeof(text), "%u %%", percent);
		svg_text(out, LEFT - 8, y + 4, "soft", "end", text);
	}
}

/* Draws a step for each round; of more than POINTS rounds, a step for POINTS ranks. */
static void curve(FILE *out, const struct svg_scale *scale, const char *name,
		  const struct preempt_times *times)
{
	unsigned points = times->count < POINTS ? times->count : POINTS;

	if (!points)
		return;
	fprintf(out, "<path class=\"curve %s\" d=\"M%.1f %.1f", name,
		svg_scale_x(scale, times->min), height_of(0));
	for (unsigned i = 1; i <= points; i++) {
		unsigned rank = (unsigned)((unsigned long)i * times->count / points);

		fprintf(out, " H%.1f V%.1f", svg_scale_x(scale, times->sorted[rank - 1]),
			height_of((double)rank / times->count));
	}
	fputs("\"/>\n", out);
}

/* Marks the first round by a circle above the curves, because it is not part of them. */
static void first(FILE *out, const struct svg_scale *scale, const char *name, double us)
{
	fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%d\" r=\"5\"/>\n", name,
		svg_scale_x(scale, us), TOP - 14);
}

/* name: class of the curve. text: what it is, `width` pixels wide. */
static void legend(FILE *out, double x, double y, const char *name, const char *what, double width,
		   const struct preempt_times *times)
{
	char text[160], p50[QUANTITY_BYTES], p99[QUANTITY_BYTES], max[QUANTITY_BYTES];

	fprintf(out, "<path class=\"curve %s\" d=\"M%.1f %.1f h24\"/>\n", name, x, y - 4);
	svg_text(out, x + 32, y, "name", "start", what);
	snprintf(text, sizeof(text), "P50 %s, P99 %s, at most %s", quantity_us(p50, times->p50),
		 quantity_us(p99, times->p99), quantity_us(max, times->max));
	svg_text(out, x + 32 + width, y, "soft", "start", text);
}

void preempt_svg(const struct preempt_job *job, const struct preempt_result *result,
		 const struct preempt_stats *stats, FILE *out)
{
	struct svg_scale scale = find_scale(result, stats);
	char text[256], hold[QUANTITY_BYTES], pause[QUANTITY_BYTES];

	snprintf(text, sizeof(text), "Preempting %s (process %d): %u of %u rounds",
		 job->target.name, (int)job->target.pid, result->done, job->times);
	svg_begin(out, WIDTH, HEIGHT, text, style, dark);
	svg_text(out, LEFT - 34, 34, "title", "start", text);
	snprintf(text, sizeof(text), "by %s; held for %s, with %s between%s",
		 job->daemon_pid ? "kfdschedd" : "a debug session", quantity_us(hold, job->hold_us),
		 quantity_us(pause, job->pause_us), job->simulated ? "; simulated GPU" : "");
	svg_text(out, LEFT - 34, 56, "soft", "start", text);
	grid(out, &scale);
	curve(out, &scale, "suspend", &stats->suspend);
	curve(out, &scale, "resume", &stats->resume);
	curve(out, &scale, "held", &stats->online_held);
	curve(out, &scale, "outside", &stats->online_outside);
	if (result->done) {
		first(out, &scale, "suspend", result->rounds[0].suspend_us);
		first(out, &scale, "resume", result->rounds[0].resume_us);
	}
	legend(out, LEFT, 86, "suspend", "suspend", 64, &stats->suspend);
	legend(out, LEFT + 390, 86, "resume", "resume", 64, &stats->resume);
	if (result->online) {
		legend(out, LEFT, 106, "held", "online, held", 94, &stats->online_held);
		legend(out, LEFT + 390, 106, "outside", "online, outside", 116,
		       &stats->online_outside);
	}
	svg_text(out, (LEFT + WIDTH - RIGHT) / 2.0, BOTTOM + 44, "soft", "middle",
		 "Share of rounds or requests with at most this duration (log scale); circles: the "
		 "first round, which is not included");
	svg_end(out);
}
