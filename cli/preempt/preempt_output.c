// SPDX-License-Identifier: MIT
/* Computes the statistics of "kfdsched preempt", and writes them as text, JSON or SVG. */
#include <math.h>
#include <stdlib.h>

#include "cli/output/fields.h"
#include "cli/output/svg.h"
#include "cli/preempt/preempt.h"
#include "common/allocate.h"
#include "common/histogram.h"

static void sum_up(struct preempt_times *times)
{
	double sum = 0;

	values_sort(times->sorted, times->count);
	for (unsigned i = 0; i < times->count; i++)
		sum += times->sorted[i];
	times->min = values_rank(times->sorted, times->count, 0);
	times->mean = times->count ? sum / times->count : NAN;
	times->p50 = values_rank(times->sorted, times->count, 0.5);
	times->p90 = values_rank(times->sorted, times->count, 0.9);
	times->p99 = values_rank(times->sorted, times->count, 0.99);
	times->max = values_rank(times->sorted, times->count, 1);
}

/* off_ns() returns when the driver began to suspend the process in a round, on_ns() when the driver
 * had resumed it; CLOCK_MONOTONIC. */
static double off_ns(const struct preempt_round *round)
{
	return (double)round->held_ns - 1e3 * round->suspend_us;
}

static double on_ns(const struct preempt_round *round)
{
	return (double)round->held_ns + 1e3 * (round->held_us + round->resume_us);
}

/* Sorts the requests into those within a suspension, those outside of one, and those that overlap a
 * suspend or resume. The lists of requests and of rounds are in order of time, so one pass
 * suffices. Requests that began after the last round are not counted, because a failed round can
 * have followed it. */
static void place_requests(const struct preempt_result *result, struct preempt_stats *out)
{
	const struct preempt_online *online = result->online;
	const struct preempt_round *round = result->rounds, *end = round + result->done;

	for (unsigned i = 0; online && i < online->count; i++) {
		const struct preempt_request *request = &online->list[i];
		double begin = (double)request->begin_ns, done = (double)request->end_ns;
		double us = (done - begin) / 1e3;

		while (round < end && on_ns(round) <= begin)
			round++;
		if (round == end)
			return;
		if (done <= off_ns(round))
			out->online_outside.sorted[out->online_outside.count++] = us;
		else if (request->begin_ns >= round->held_ns &&
			 done <= (double)round->held_ns + 1e3 * round->held_us)
			out->online_held.sorted[out->online_held.count++] = us;
		else
			out->online_across++;
	}
}

void preempt_stats(const struct preempt_result *result, struct preempt_stats *out)
{
	unsigned count = result->done ? result->done - 1 : 0;
	unsigned requests = result->online ? result->online->count : 0;

	*out = (struct preempt_stats){
		.suspend = {.count = count, .sorted = allocate(count, sizeof(double))},
		.held = {.count = count, .sorted = allocate(count, sizeof(double))},
		.resume = {.count = count, .sorted = allocate(count, sizeof(double))},
		.online_held = {.sorted = allocate(requests, sizeof(double))},
		.online_outside = {.sorted = allocate(requests, sizeof(double))},
	};
	place_requests(result, out);
	for (unsigned i = 0; i < count; i++) {
		out->suspend.sorted[i] = result->rounds[i + 1].suspend_us;
		out->held.sorted[i] = result->rounds[i + 1].held_us;
		out->resume.sorted[i] = result->rounds[i + 1].resume_us;
	}
	sum_up(&out->suspend);
	sum_up(&out->held);
	sum_up(&out->resume);
	sum_up(&out->online_held);
	sum_up(&out->online_outside);
}

void preempt_stats_free(struct preempt_stats *stats)
{
	free(stats->suspend.sorted);
	free(stats->held.sorted);
	free(stats->resume.sorted);
	free(stats->online_held.sorted);
	free(stats->online_outside.sorted);
	*stats = (struct preempt_stats){0};
}

/* ---- histogram ---- */

#define RANGE_COLUMNS 21 /* "1.23 ms - 1.46 ms" and blanks */
#define COUNT_COLUMNS 8
#define BAR_LEAST 8
#define BAR_MOST 48

struct buckets {
	double factor; /* upper edge / lower edge of a bucket */
	int first;     /* number of the first bucket n, whose lower edge is factor^n us */
	unsigned rows;
};

/* Returns the value, but at least 1 us, because the scale is logarithmic. */
static double value(double us)
{
	return us > 1 ? us : 1;
}

/* Returns the number of the bucket of a value. 1e-9 compensates rounding of the logarithm, so that
 * a value on an edge is always in the bucket above the edge. */
static int bucket_of(double factor, double us)
{
	return (int)floor(log(value(us)) / log(factor) + 1e-9);
}

/* Chooses the finest buckets (8 per octave to 1 per 4 octaves) that need at most HISTOGRAM_ROWS
 * rows for all values. Returns false if there is no value. */
static bool find_buckets(const struct histogram_series *series, unsigned n, struct buckets *out)
{
	static const double per_octave[] = {8, 4, 2, 1, 0.5, 0.25};
	double low = INFINITY, high = 0;

	for (unsigned s = 0; s < n; s++)
		for (unsigned i = 0; i < series[s].count; i++) {
			low = fmin(low, value(series[s].us[i]));
			high = fmax(high, value(series[s].us[i]));
		}
	if (!(high > 0) || isinf(high))
		return false;
	for (size_t i = 0; i < sizeof(per_octave) / sizeof(per_octave[0]); i++) {
		out->factor = pow(2, 1 / per_octave[i]);
		out->first = bucket_of(out->factor, low);
		out->rows = (unsigned)(bucket_of(out->factor, high) - out->first + 1);
		if (out->rows <= HISTOGRAM_ROWS)
			return true;
	}
	return false; /* not reached: no duration is that long */
}

static unsigned count_in(const struct histogram_series *series, const struct buckets *buckets,
			 unsigned row)
{
	unsigned count = 0;

	for (unsigned i = 0; i < series->count; i++)
		count += bucket_of(buckets->factor, series->us[i]) == buckets->first + (int)row;
	return count;
}

/* Prints a bar and returns its width in columns. A share above 0 is at least one step wide, so that
 * it is visible. */
static unsigned bar(double share, unsigned width, bool blocks, FILE *out)
{
	static const char *const eighths[] = {"",	"\u258f", "\u258e", "\u258d",
					      "\u258c", "\u258b", "\u258a", "\u2589"};
	unsigned steps = blocks ? 8 : 1;
	unsigned long n = share > 0 ? (unsigned long)fmax(1, lround(share * width * steps)) : 0;

	for (unsigned long i = 0; i < n / steps; i++)
		fputs(blocks ? "\u2588" : "#", out);
	fputs(eighths[n % steps], out);
	return (unsigned)((n + steps - 1) / steps);
}

/* Prints one bucket: its range, and for each series the count and a bar. The last series is not
 * padded. */
static void row(const struct histogram_series *series, unsigned n, const struct buckets *buckets,
		unsigned at, unsigned most, unsigned width, bool blocks, FILE *out)
{
	double from = pow(buckets->factor, buckets->first + (int)at);
	char low[QUANTITY_BYTES], high[QUANTITY_BYTES];

	fprintf(out, "%8s - %8s  ", quantity_us(low, from),
		quantity_us(high, from * buckets->factor));
	for (unsigned s = 0; s < n; s++) {
		unsigned count = count_in(&series[s], buckets, at);
		unsigned used;

		fprintf(out, "%*u", COUNT_COLUMNS - 2, count);
		if (count || s + 1 < n)
			fputs("  ", out);
		used = bar((double)count / most, width, blocks, out);
		if (s + 1 < n)
			fprintf(out, "%*s", (int)(width - used), "");
	}
	fputc('\n', out);
}

void histogram_print(const struct histogram_series *series, unsigned n, unsigned columns,
		     bool blocks, FILE *out)
{
	struct buckets buckets;
	unsigned most = 1, width;

	if (!find_buckets(series, n, &buckets))
		return;
	for (unsigned s = 0; s < n; s++)
		for (unsigned i = 0; i < buckets.rows; i++) {
			unsigned count = count_in(&series[s], &buckets, i);

			most = count > most ? count : most;
		}
	width = columns > RANGE_COLUMNS + n * COUNT_COLUMNS
			? (columns - RANGE_COLUMNS - n * COUNT_COLUMNS) / n
			: 0;
	width = width < BAR_LEAST ? BAR_LEAST : width > BAR_MOST ? BAR_MOST : width;
	fprintf(out, "%*s", RANGE_COLUMNS, "");
	for (unsigned s = 0; s < n; s++)
		fprintf(out, "%*s%-*s", COUNT_COLUMNS, "", s + 1 < n ? (int)width : 0,
			series[s].name);
	fputc('\n', out);
	for (unsigned i = 0; i < buckets.rows; i++)
		row(series, n, &buckets, i, most, width, blocks, out);
}

/* ---- text ---- */

/* Values for the fields of preempt.def. */
struct online_report {
	const struct preempt_job *job;
	const struct preempt_online *online;
	unsigned across;
	const struct preempt_times *held, *outside; /* NULL: none */
};

struct preempt_report {
	const struct preempt_job *job;
	const struct preempt_result *result;
	const struct preempt_round *first; /* NULL: no round has succeeded */
	const struct preempt_times *suspend, *held, *resume;
	const struct online_report *online; /* NULL: none */
};

static json_t *by_daemon(const void *row)
{
	return json_boolean(((const struct preempt_job *)row)->daemon_pid != 0);
}

#include "cli/preempt/preempt.def"

/* Adds a row to a table of times. `count`: key under which the number of durations is stored,
 * "rounds" or "requests". */
static void add_row(json_t *rows, const char *name, const char *count,
		    const struct preempt_times *times)
{
	json_t *row = render_json(fields_preempt_times, times);

	json_object_set_new(row, "name", json_string(name));
	json_object_set_new(row, count, json_integer(times->count));
	json_array_append_new(rows, row);
}

static void print_table(const struct preempt_stats *stats)
{
	json_t *rows = json_array();

	add_row(rows, "suspend", "rounds", &stats->suspend);
	add_row(rows, "held", "rounds", &stats->held);
	add_row(rows, "resume", "rounds", &stats->resume);
	render_table(fields_preempt_row, "name,rounds,min,mean,median,p90,p99,max", rows, stdout);
}

/* Prints how long the requests took while the process was suspended, and while it ran. */
static void print_online(const struct preempt_online *online, const struct preempt_stats *stats)
{
	json_t *rows = json_array();

	putchar('\n');
	add_row(rows, "online, held", "requests", &stats->online_held);
	add_row(rows, "online, outside", "requests", &stats->online_outside);
	render_table(fields_preempt_row, "name,requests,min,mean,median,p90,p99,max", rows, stdout);
	if (stats->online_across)
		printf("%u requests were under way during a suspend or resume\n",
		       stats->online_across);
	if (online->failed)
		printf("%u requests failed\n", online->failed);
	if (!stats->online_held.count)
		puts("no request began and ended within a hold: use a longer --hold");
}

static void print_head(const struct preempt_job *job, const struct preempt_result *result)
{
	char hold[QUANTITY_BYTES], pause[QUANTITY_BYTES];

	printf("process %d (%s): ", (int)job->target.pid, job->target.name);
	if (result->tried)
		printf("%u/%u successes (%.3g %%)", result->done, result->tried,
		       100.0 * result->done / result->tried);
	else
		printf("not preempted");
	if (result->tried < job->times)
		printf(", %u of %u rounds not run", job->times - result->tried, job->times);
	printf(", by %s%s\n", job->daemon_pid ? "the daemon" : "a debug session of kfdsched",
	       job->simulated ? ", on a simulated GPU" : "");
	printf("to be held for %s each time, with %s between\n", quantity_us(hold, job->hold_us),
	       quantity_us(pause, job->pause_us));
}

void preempt_print(const struct preempt_job *job, const struct preempt_result *result,
		   const struct preempt_stats *stats, unsigned columns, bool blocks)
{
	const struct histogram_series series[] = {
		{"suspend", stats->suspend.sorted, stats->suspend.count},
		{"resume", stats->resume.sorted, stats->resume.count},
	};
	char suspend[QUANTITY_BYTES], held[QUANTITY_BYTES], resume[QUANTITY_BYTES];

	print_head(job, result);
	if (!isnan(result->opening_us))
		printf("opening the session: suspend %s\n",
		       quantity_us(suspend, result->opening_us));
	if (result->done)
		printf("first round: suspend %s, held %s, resume %s\n",
		       quantity_us(suspend, result->rounds[0].suspend_us),
		       quantity_us(held, result->rounds[0].held_us),
		       quantity_us(resume, result->rounds[0].resume_us));
	if (result->online)
		print_online(result->online, stats);
	if (!stats->suspend.count)
		return;
	putchar('\n');
	print_table(stats);
	putchar('\n');
	histogram_print(series, sizeof(series) / sizeof(series[0]), columns, blocks, stdout);
}

/* ---- JSON ---- */

static const struct preempt_times *if_any(const struct preempt_times *times)
{
	return times->count ? times : NULL;
}

void preempt_print_json(const struct preempt_job *job, const struct preempt_result *result,
			const struct preempt_stats *stats)
{
	const struct online_report online = {
		.job = job,
		.online = result->online,
		.across = stats->online_across,
		.held = if_any(&stats->online_held),
		.outside = if_any(&stats->online_outside),
	};
	const struct preempt_report report = {
		.job = job,
		.result = result,
		.first = result->done ? &result->rounds[0] : NULL,
		.suspend = if_any(&stats->suspend),
		.held = if_any(&stats->held),
		.resume = if_any(&stats->resume),
		.online = result->online ? &online : NULL,
	};

	render_print(render_json(fields_preempt, &report),
		     JSON_INDENT(2) | JSON_REAL_PRECISION(12));
}

/* ---- SVG ---- */

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

/* Returns the y coordinate of a share of the rounds. */
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

/* Draws a cumulative distribution: a step for each value, but at most POINTS steps. */
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
static void draw_first(FILE *out, const struct svg_scale *scale, const char *name, double us)
{
	fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%d\" r=\"5\"/>\n", name,
		svg_scale_x(scale, us), TOP - 14);
}

/* Draws the legend of a curve. name: class of the curve; what: text, `width` pixels wide. */
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
		draw_first(out, &scale, "suspend", result->rounds[0].suspend_us);
		draw_first(out, &scale, "resume", result->rounds[0].resume_us);
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
