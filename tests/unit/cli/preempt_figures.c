// SPDX-License-Identifier: MIT
/*
 * Proves the statistics of preempt and the queue list of suspend. Quantiles are of all rounds but
 * the first. Each value is in exactly one bucket of the histogram, whose lines are aligned and few
 * enough to be read, in ASCII and in blocks. A plot contains no NaN or infinity, whatever was
 * measured.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/preempt/preempt.h"

/* Returns a result of n rounds, to be freed. us: time of a suspend; a hold takes three times, a
 * resume twice as long. */
static struct preempt_result *rounds(unsigned n, const double *us)
{
	struct preempt_result *result = calloc(1, sizeof(*result) + n * sizeof(result->rounds[0]));

	assert_non_null(result);
	result->tried = result->done = n;
	result->opening_us = NAN;
	for (unsigned i = 0; i < n; i++)
		result->rounds[i] = (struct preempt_round){
			.suspend_us = us[i], .held_us = 3 * us[i], .resume_us = 2 * us[i]};
	return result;
}

static void the_first_round_is_apart(void **state)
{
	const double us[] = {12000, 5, 3, 1, 4, 2};
	struct preempt_result *result = rounds(6, us);
	struct preempt_stats stats;

	(void)state;
	preempt_stats(result, &stats);
	assert_int_equal(stats.suspend.count, 5);
	assert_true(stats.suspend.min == 1 && stats.suspend.max == 5);
	assert_true(stats.suspend.mean == 3 && stats.suspend.p50 == 3);
	assert_true(stats.suspend.p90 == 5 && stats.resume.p50 == 6);
	assert_true(stats.held.p50 == 9);
	preempt_stats_free(&stats);
	free(result);
}

static void quantiles_are_by_nearest_rank(void **state)
{
	double us[101];
	struct preempt_result *result;
	struct preempt_stats stats;

	(void)state;
	for (unsigned i = 0; i < 101; i++)
		us[i] = 101 - i; /* 100 to 1 after the first */
	result = rounds(101, us);
	preempt_stats(result, &stats);
	assert_true(stats.suspend.p50 == 50 && stats.suspend.p90 == 90);
	assert_true(stats.suspend.p99 == 99 && stats.suspend.max == 100);
	preempt_stats_free(&stats);
	free(result);
}

static void without_rounds_nothing_is_known(void **state)
{
	const double us[] = {7};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		struct preempt_result *result = rounds(n, us);
		struct preempt_stats stats;

		preempt_stats(result, &stats);
		assert_int_equal(stats.suspend.count, 0);
		assert_true(isnan(stats.suspend.min) && isnan(stats.resume.mean));
		preempt_stats_free(&stats);
		free(result);
	}
}

#define MS UINT64_C(1000000)

static void requests_are_sorted_by_the_holds(void **state)
{
	static const struct preempt_request requests[] = {
		{50 * MS, 60 * MS},   /* outside: 10 ms */
		{98 * MS, 100 * MS},  /* across the suspend, which begins at 99 ms */
		{101 * MS, 105 * MS}, /* held: 4 ms */
		{109 * MS, 111 * MS}, /* across the resume, from 110 to 112 ms */
		{112 * MS, 132 * MS}, /* outside: 20 ms */
		{190 * MS, 250 * MS}, /* across the whole second hold */
		{250 * MS, 251 * MS}, /* after the last round that succeeded */
	};
	const double us[] = {1000, 1000};
	struct preempt_result *result = rounds(2, us);
	struct preempt_online *online = calloc(1, sizeof(*online));
	struct preempt_stats stats;

	(void)state;
	assert_non_null(online);
	memcpy(online->list, requests, sizeof(requests));
	online->count = sizeof(requests) / sizeof(requests[0]);
	result->online = online;
	for (unsigned i = 0; i < 2; i++) {
		result->rounds[i].held_us = 10000;
		result->rounds[i].held_ns = (i + 1) * 100 * MS;
	}
	preempt_stats(result, &stats);
	assert_int_equal(stats.online_held.count, 1);
	assert_true(stats.online_held.p50 == 4000 && stats.online_held.p99 == 4000);
	assert_int_equal(stats.online_outside.count, 2);
	assert_true(stats.online_outside.p50 == 10000 && stats.online_outside.p99 == 20000);
	assert_int_equal(stats.online_across, 3);
	preempt_stats_free(&stats);
	free(online);
	free(result);
}

/* Returns the printed histogram, to be freed. */
static char *printed(const struct histogram_series *series, unsigned n, unsigned columns,
		     bool blocks)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	histogram_print(series, n, columns, blocks, out);
	fclose(out);
	return text;
}

static void a_histogram_is_as_it_was(void **state)
{
	const double suspend[] = {100, 110, 120, 190, 400}, resume[] = {100, 130};
	const struct histogram_series series[] = {{"suspend", suspend, 5}, {"resume", resume, 2}};
	char *text = printed(series, 2, 60, false);

	(void)state;
	assert_string_equal(text, "                             suspend            resume\n"
				  " 90.5 us -   108 us       1  ######          1  ######\n"
				  "  108 us -   128 us       2  ###########     0\n"
				  "  128 us -   152 us       0                  1  ######\n"
				  "  152 us -   181 us       0                  0\n"
				  "  181 us -   215 us       1  ######          0\n"
				  "  215 us -   256 us       0                  0\n"
				  "  256 us -   304 us       0                  0\n"
				  "  304 us -   362 us       0                  0\n"
				  "  362 us -   431 us       1  ######          0\n");
	free(text);
	text = printed(series, 2, 60, true);
	assert_non_null(strstr(text, "  \u2588\u2588"));
	assert_null(strchr(text, '#'));
	free(text);
}

static unsigned sum_of_counts(char *text, unsigned *rows)
{
	unsigned sum = 0, n = 0;
	char *line = strtok(text, "\n");

	for (*rows = 0; (line = strtok(NULL, "\n")) != NULL; ++*rows) {
		assert_int_equal(sscanf(line, "%*s %*s - %*s %*s %u", &n), 1);
		assert_true(strlen(line) < 200);
		sum += n;
	}
	return sum;
}

static void each_value_is_in_one_bucket(void **state)
{
	unsigned rows;

	(void)state;
	srand(1);
	for (unsigned spread = 0; spread < 12; spread++) {
		double us[500];
		const struct histogram_series series = {"x", us, 500};
		char *text;

		for (unsigned i = 0; i < 500; i++)
			us[i] = 100 * pow(10, spread * 0.5 * rand() / RAND_MAX);
		us[0] = us[1] = 128; /* the edge of a bucket */
		us[2] = spread > 2 ? 0
				   : 128; /* 0, as of a daemon: its values are whole microseconds */
		text = printed(&series, 1, spread * 30, spread % 2);
		assert_int_equal(sum_of_counts(text, &rows), 500);
		assert_in_range(rows, 1, HISTOGRAM_ROWS);
		free(text);
	}
}

static void nothing_is_no_histogram(void **state)
{
	const struct histogram_series series = {"x", NULL, 0};
	char *text = printed(&series, 1, 80, false);

	(void)state;
	assert_string_equal(text, "");
	free(text);
}

static void a_plot_has_no_number_that_is_none(void **state)
{
	const double us[] = {0, 0, 5e6, 300, 300};
	const struct preempt_job job = {.times = 5, .target = {.pid = 1, .name = "a<b&c"}};

	(void)state;
	for (unsigned n = 0; n <= 5; n++) {
		struct preempt_result *result = rounds(n, us);
		struct preempt_stats stats;
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		preempt_stats(result, &stats);
		preempt_svg(&job, result, &stats, out);
		fclose(out);
		assert_non_null(strstr(text, "Preempting a&lt;b&amp;c"));
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "inf"));
		assert_string_equal(text + size - 7, "</svg>\n");
		preempt_stats_free(&stats);
		free(result);
		free(text);
	}
}

static void lists_of_ids(void **state)
{
	static const char *const wrong[] = {"",	 ",",  "1,", ",1",  "a",    "3-2", "1-",
					    "-", "-1", "1 ", "0x1", "1024", "+1",  "1-99999999999"};
	struct suspend_ids ids;

	(void)state;
	assert_int_equal(suspend_read_ids("5,0,2-4,3", &ids), 0);
	assert_int_equal(ids.count, 5);
	assert_true(ids.id[0] == 0 && ids.id[1] == 2 && ids.id[3] == 4 && ids.id[4] == 5);
	assert_int_equal(suspend_read_ids("0-1023", &ids), 0);
	assert_int_equal(ids.count, SUSPEND_IDS_MAX);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(suspend_read_ids(wrong[i], &ids), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_round_is_apart),
		cmocka_unit_test(quantiles_are_by_nearest_rank),
		cmocka_unit_test(without_rounds_nothing_is_known),
		cmocka_unit_test(requests_are_sorted_by_the_holds),
		cmocka_unit_test(a_histogram_is_as_it_was),
		cmocka_unit_test(each_value_is_in_one_bucket),
		cmocka_unit_test(nothing_is_no_histogram),
		cmocka_unit_test(a_plot_has_no_number_that_is_none),
		cmocka_unit_test(lists_of_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
