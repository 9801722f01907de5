/* SPDX-License-Identifier: MIT */
/*
 * Prints durations as a text histogram: one line per bucket on a logarithmic scale (each bucket
 * is wider than the one before by the same factor), and several series side by side that share
 * the buckets. Threads: any.
 */
#ifndef KFDSHIM_CLI_OUTPUT_TEXT_HISTOGRAM_H
#define KFDSHIM_CLI_OUTPUT_TEXT_HISTOGRAM_H

#include <stdbool.h>
#include <stdio.h>

#define HISTOGRAM_ROWS 16 /* most buckets */

struct histogram_series {
	const char *name;
	const double *us;
	unsigned count;
};

/*
 * Prints the n series to `out`, fitted to a width of `columns` (60 or more; below that the lines
 * may be longer). blocks: draw bars with U+2588 to U+258F; false: with '#'. Values below 1 us
 * count as 1 us. Prints nothing if no series has a value.
 */
void histogram_print(const struct histogram_series *series, unsigned n, unsigned columns,
		     bool blocks, FILE *out);

#endif
