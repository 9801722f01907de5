/* SPDX-License-Identifier: MIT */
/*
 * Times as a histogram of text: a line a bucket, each bucket as much wider than the one
 * before as all others (log scale), and beside each other the series that share them.
 * Threads: any.
 */
#ifndef KFDSHIM_CLI_HISTOGRAM_H
#define KFDSHIM_CLI_HISTOGRAM_H

#include <stdbool.h>
#include <stdio.h>

#define HISTOGRAM_ROWS 16 /* at most */

struct histogram_series {
	const char *name;
	const double *us;
	unsigned count;
};

/* As wide as `columns`, if that is 60 or more. blocks: U+2588 to U+258F can be shown;
 * else bars are of '#'. What is below 1 us counts as that. Without values: nothing. */
void histogram_print(const struct histogram_series *series, unsigned n, unsigned columns,
		     bool blocks, FILE *out);

#endif
