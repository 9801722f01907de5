// SPDX-License-Identifier: MIT
/*
 * Proves the arrivals in bursts and from a file, and the table of request times: it has room for
 * all requests that can arrive, and the file has a line for each.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/kfdreplay/arrivals.h"

static char path[] = "/tmp/kfdreplay-arrivals-XXXXXX";
static char error[256];

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 || close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void bursts(void **state)
{
	const unsigned periods = 400;
	struct arrivals a;
	unsigned n = 0;

	(void)state;
	arrivals_start(&a, ARRIVALS_BURSTY, 300, 7);
	for (uint64_t at; (at = arrivals_next(&a)) < (uint64_t)periods * ARRIVALS_PERIOD_NS; n++)
		assert_true(at % ARRIVALS_PERIOD_NS < ARRIVALS_BURST_NS);
	/* 150 in a period, 60,000 in all */
	assert_true(fabs(n / (300.0 * periods / 2) - 1) < 0.02);
}

static void recorded(void **state)
{
	struct arrivals_gaps gaps;
	struct arrivals a;

	(void)state;
	write_file("# us\n100\n\n 300.5 \r\n  # more\n0\n1199.5");
	assert_int_equal(arrivals_file_read(path, &gaps, error, sizeof(error)), 0);
	assert_int_equal(gaps.count, 4);
	assert_true(gaps.mean_ns == 400000);
	/* twice as fast as recorded */
	arrivals_start_recorded(&a, &gaps, 5000, 1);
	assert_int_equal(arrivals_next(&a), 50000);
	assert_int_equal(arrivals_next(&a), 200250);
	assert_int_equal(arrivals_next(&a), 200250);
	assert_int_equal(arrivals_next(&a), 800000);
	assert_int_equal(arrivals_next(&a), 850000);
	/* another seed begins at another gap, and has the same gaps */
	arrivals_start_recorded(&a, &gaps, 5000, 2);
	for (unsigned i = 0; i < 3; i++)
		arrivals_next(&a);
	assert_int_equal(arrivals_next(&a), 800000);
	arrivals_file_free(&gaps);
}

static void not_recorded(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"1\n2\nx\n", ":3: not an interval"},	 {"1\n-2\n", ":2: not an interval"},
		{"1 2\n", ":1: not an interval"},	 {"nan\n", ":1: not an interval"},
		{"1e13\n", ":1: not an interval"},	 {"", ": has no interval above 0"},
		{"0\n0\n", ": has no interval above 0"},
	};
	struct arrivals_gaps gaps;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_file(bad[i].text);
		assert_int_equal(arrivals_file_read(path, &gaps, error, sizeof(error)), -EINVAL);
		assert_non_null(strstr(error, bad[i].message));
		assert_null(gaps.ns);
	}
	assert_int_equal(arrivals_file_read("/nowhere/gaps", &gaps, error, sizeof(error)), -ENOENT);
	assert_non_null(strstr(error, "/nowhere/gaps: cannot be opened"));
}

static void room_for_all(void **state)
{
	struct request_times times;
	struct arrivals a;

	(void)state;
	arrivals_start(&a, ARRIVALS_FIXED, 1000, 1);
	assert_int_equal(request_times_open(&times, &a, 10000000, 0), 0);
	assert_int_equal(times.room, 11);
	request_times_free(&times);
	assert_int_equal(request_times_open(&times, &a, UINT64_MAX, 5), 0);
	assert_int_equal(times.room, 6);
	request_times_free(&times);
	/* request_times_open() does not advance the stream of arrivals. */
	assert_int_equal(arrivals_next(&a), 1000000);
	arrivals_start(&a, ARRIVALS_FIXED, 1e6, 1);
	assert_int_equal(request_times_open(&times, &a, UINT64_MAX, 0), -ENOMEM);
}

static void a_line_each(void **state)
{
	static const char wanted[] = "due_us,begin_us,end_us\n1000.000,1000.500,2000.000\n"
				     "2000.000,2500.001,\n";
	struct request_times times;
	struct arrivals a;
	char text[256];

	(void)state;
	arrivals_start(&a, ARRIVALS_FIXED, 1000, 1);
	assert_int_equal(request_times_open(&times, &a, 5000000, 0), 0);
	request_times_begin(&times, 1000000, 1000500);
	request_times_end(&times, 2000000);
	request_times_begin(&times, 2000000, 2500001);
	assert_int_equal(request_times_write(&times, path, error, sizeof(error)), 0);
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, wanted);
	assert_int_equal(request_times_write(&times, "/nowhere/times", error, sizeof(error)), -EIO);
	assert_non_null(strstr(error, "/nowhere/times: cannot be written: No such file"));
	assert_int_equal(request_times_write(&times, "/dev/full", error, sizeof(error)), -EIO);
	assert_non_null(strstr(error, "/dev/full: cannot be written: No space"));
	request_times_free(&times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bursts),	cmocka_unit_test(recorded),
		cmocka_unit_test(not_recorded), cmocka_unit_test(room_for_all),
		cmocka_unit_test(a_line_each),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
