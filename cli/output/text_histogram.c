// SPDX-License-Identifier: MIT
#include "cli/output/text_histogram.h"

#include <math.h>

#include "cli/output/table.h"

#define RANGE_COLUMNS 21 /* "1.23 ms - 1.46 ms" and blanks */
#define COUNT_COLUMNS 8
#define BAR_LEAST 8
#define BAR_MOST 48

struct buckets {
	double factor; /* upper edge / lower edge of a bucket */
	int first;     /* number of the first bucket n, whose lower edge is factor^n us */
	unsigned rows;
};

/* Values below 1 us count as 1 us: the scale is logarithmic. */
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
