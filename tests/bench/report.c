// SPDX-License-Identifier: MIT
#include "tests/bench/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS 201u

void bench_begin(struct bench *bench, const char *name, const char *title)
{
	bench->root = json_pack("{s:s, s:s, s:[], s:[]}", "name", name, "title", title, "series",
				"figures");
	bench->failed = false;
}

/* jansson does not support such numbers: an object that contains one would be missing. */
static bool is_number(struct bench *bench, const char *name, double value)
{
	if (isfinite(value))
		return true;
	fprintf(stderr, "bench: \"%s\" was measured as %g, which is no number\n", name, value);
	bench->failed = true;
	return false;
}

/* Appends `entry` and takes ownership of it. NULL (no memory) is recorded as a failure. */
static void append(struct bench *bench, const char *list, const char *name, json_t *entry)
{
	if (!json_array_append_new(json_object_get(bench->root, list), entry))
		return;
	fprintf(stderr, "bench: \"%s\" cannot be kept: no memory\n", name);
	bench->failed = true;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *samples, size_t n)
{
	qsort(samples, n, sizeof *samples, by_value);
	return n ? (samples[(n - 1) / 2] + samples[n / 2]) / 2 : 0;
}

double bench_ratio(const double *a, const double *b, size_t n)
{
	double *ratios = malloc((n + 1) * sizeof *ratios), median = NAN;

	for (size_t i = 0; ratios && i < n; i++)
		ratios[i] = a[i] / b[i];
	if (ratios)
		median = bench_median(ratios, n);
	free(ratios);
	return median;
}

void bench_series(struct bench *bench, const char *name, const char *unit, double *samples,
		  size_t n)
{
	json_t *points = json_array();

	for (size_t i = 0; i < n; i++)
		if (!is_number(bench, name, samples[i])) {
			json_decref(points);
			return;
		}
	qsort(samples, n, sizeof *samples, by_value);
	for (size_t i = 0; i < POINTS; i++)
		if (json_array_append_new(points, json_real(samples[i * (n - 1) / (POINTS - 1)])))
			bench->failed = true;
	append(bench, "series", name,
	       json_pack("{s:s, s:s, s:I, s:o}", "name", name, "unit", unit, "samples",
			 (json_int_t)n, "ranks", points));
}

void bench_figure(struct bench *bench, const char *name, double value, const char *unit,
		  const char *bound, double limit)
{
	if (!is_number(bench, name, value) || (bound && !is_number(bench, name, limit)))
		return;
	append(bench, "figures", name,
	       json_pack("{s:s, s:f, s:s, s:s?, s:o}", "name", name, "value", value, "unit", unit,
			 "bound", bound, "limit", bound ? json_real(limit) : json_null()));
}

int bench_end(struct bench *bench)
{
	int bad = bench->failed || !bench->root ||
		  json_dumpf(bench->root, stdout, JSON_REAL_PRECISION(6)) || puts("") == EOF;

	json_decref(bench->root);
	return bad;
}
