// SPDX-License-Identifier: MIT
/*
 * Proves the calculation of what a scheduler that knows the future could achieve: cases calculated
 * by hand, and known figures for Poisson arrivals of equal length.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/colocate/result.h"
#include "tools/kfdreplay/arrivals.h"

static const struct possible_costs costs = {.suspend_us = 50, .resume_us = 30};
static struct possible out;

static void play(const struct possible_request *requests, size_t count, double window_us)
{
	assert_int_equal(possible_play(requests, count, window_us, &costs, &out), 0);
}

static bool near(double value, double wanted)
{
	return fabs(value - wanted) < 1e-9;
}

static void test_gaps(void **state)
{
	/* 1050..1150, 1150..1220 (it waits), 1240..1300 (the gap of 20 us is too short) */
	const struct possible_request requests[] = {{1000, 100}, {1120, 70}, {1240, 60}};

	(void)state;
	play(requests, 3, 2080);
	assert_true(near(out.share * 2080, 970 + (2080 - 1300 - 30)));
	assert_int_equal(out.suspends, 1);
	assert_true(near(out.p50_us, 100)); /* of 100, 60 and 150 */
	assert_true(near(out.p99_us, 150));
}

/* A gap as long as the resume gains nothing and costs nothing. */
static void test_the_shortest_gap(void **state)
{
	const struct possible_request at[] = {{30, 10}}, above[] = {{31, 10}};

	(void)state;
	play(at, 1, 40);
	assert_true(out.share == 0 && out.suspends == 0 && near(out.p99_us, 10));
	play(above, 1, 91);
	assert_true(near(out.share * 91, 1) && out.suspends == 1 && near(out.p99_us, 60));
}

/* The delay of a request shortens the gap after it: after the first request 85 of 100 us are left,
 * less the resume. After the second, which is delayed in turn, too little is left for another
 * suspend. */
static void test_delay_is_played_on(void **state)
{
	const struct possible_request requests[] = {{35, 100}, {270, 100}, {450, 100}};

	(void)state;
	play(requests, 3, 550);
	/* 35..185, 270..420 (gap of 85 us), 450..550 (gap of 30 us) */
	assert_true(near(out.share * 550, 5 + 55));
	assert_int_equal(out.suspends, 2);
	assert_true(near(out.p50_us, 150));
}

static void test_no_request(void **state)
{
	(void)state;
	play(NULL, 0, 300);
	assert_true(near(out.share, 0.9) && out.suspends == 0 && isnan(out.p50_us));
}

/* A request that lasts beyond the window leaves no gap after it, and has no latency. */
static void test_unfinished(void **state)
{
	const struct possible_request requests[] = {{100, 10}, {200, INFINITY}, {220, INFINITY}};

	(void)state;
	play(requests, 3, 1000);
	assert_true(near(out.share * 1000, 70 + (200 - 160 - 30)));
	assert_true(near(out.p99_us, 60));
}

static void test_service(void **state)
{
	const struct request_time times[] = {
		{100, 150}, {120, 190}, {500, 540}, {530, NAN}, {531, NAN}};
	struct possible_request requests[5];

	(void)state;
	possible_service(times, 5, requests);
	assert_true(requests[0].service_us == 50 && requests[1].service_us == 40);
	assert_true(requests[2].service_us == 40 && requests[2].due_us == 500);
	assert_true(isinf(requests[3].service_us) && isinf(requests[4].service_us));
}

/* The requests of two clients, merged: where two overlap, the second one waits. */
static void test_merged(void **state)
{
	struct possible_request requests[] = {{100, 40}, {400, 40}, {110, 20}, {390, INFINITY}};

	(void)state;
	possible_merge(requests, 3);
	play(requests, 3, 440);
	assert_true(near(out.share * 440, 70 + (400 - 210 - 30)));
	assert_true(near(out.p99_us, 100) && near(out.p50_us, 90));
	/* No request is completed after one that does not end. */
	possible_merge(requests, 4);
	play(requests, 4, 600);
	assert_true(near(out.share * 600, 70 + (390 - 210 - 30)));
	assert_true(near(out.p99_us, 100));
}

static void test_bad_input(void **state)
{
	const struct possible_request one = {100, 10};
	const struct possible_costs unknown = {NAN, 30}, negative = {50, -1};

	(void)state;
	assert_int_equal(possible_play(&one, 1, 0, &costs, &out), -EINVAL);
	assert_int_equal(possible_play(&one, 1, NAN, &costs, &out), -EINVAL);
	assert_int_equal(possible_play(&one, 1, 100, &unknown, &out), -EINVAL);
	assert_int_equal(possible_play(&one, 1, 100, &negative, &out), -EINVAL);
	assert_true(isnan(out.share) && isnan(out.p99_us));
}

static int read_text(const char *text, struct request_list *list)
{
	char path[] = "/tmp/possible-XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "%s", text) > 0);
	close(fd);
	rc = request_list_read(path, list);
	unlink(path);
	return rc;
}

#define HEADER "due_us,begin_us,end_us\n"

static void test_reads_times(void **state)
{
	static const char *const bad[] = {
		"due,begin,end\n",
		HEADER "1,2\n",
		HEADER "1,2,3,4\n",
		HEADER "1,2,x\n",
		HEADER "1,2,1.5\n",
		HEADER "3,2,4\n",
		HEADER "5,6,7\n4,8,9\n",
		HEADER "1,2,3\n1,2,3 junk\n",
		HEADER "\n",
		HEADER "1,2,inf\n",
	};
	struct request_list list;

	(void)state;
	assert_int_equal(read_text(HEADER "1.500,2.000,3.250\n2.000,3.250,\n", &list), 0);
	assert_int_equal(list.count, 2);
	assert_true(list.times[0].due_us == 1.5 && list.times[0].end_us == 3.25);
	assert_true(list.times[1].due_us == 2 && isnan(list.times[1].end_us));
	request_list_free(&list);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_text(bad[i], &list), -EINVAL);
		assert_null(list.times);
	}
	assert_int_equal(request_list_read("/nowhere/times", &list), -ENOENT);
}

/* Poisson arrivals of requests of equal length for two minutes, compared with the figures of
 * another program for ten minutes with other random numbers. The P99 depends most on these. */
static void test_known_values(void **state)
{
	static const struct {
		double service_us, load, update_us, share, p99_us, suspends_per_s, p99_error;
	} known[] = {
		{980, 0.05, 200, 0.9239, 2082.4, 47.28, 0.03},
		{980, 0.2, 200, 0.7170, 2664.7, 146.5, 0.05},
		{980, 0.5, 50, 0.4410, 4377.6, 224.6, 0.05},
		{980, 0.5, 500, 0.3051, 4686.8, 155.5, 0.05},
		{980, 0.8, 200, 0.1354, 11593, 109.9, 0.1},
		{2500, 0.2, 500, 0.7315, 6686.3, 58.62, 0.05},
		{2500, 0.5, 200, 0.4487, 11360, 89.24, 0.05},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
		const double window_us = 120e6, gap_us = known[k].service_us / known[k].load;
		const struct possible_costs both = {known[k].update_us + 78,
						    known[k].update_us + 78};
		struct possible_request *requests =
			calloc(2 * (size_t)(window_us / gap_us), sizeof(*requests));
		struct arrivals arrivals;
		size_t n = 0;

		assert_non_null(requests);
		arrivals_start(&arrivals, ARRIVALS_POISSON, 1e6 / gap_us, 1);
		for (double at; (at = (double)arrivals_next(&arrivals) / 1e3) < window_us;)
			requests[n++] = (struct possible_request){at, known[k].service_us};
		assert_int_equal(possible_play(requests, n, window_us, &both, &out), 0);
		free(requests);
		assert_true(fabs(out.share / known[k].share - 1) < 0.03);
		assert_true(fabs(out.p99_us / known[k].p99_us - 1) < known[k].p99_error);
		assert_true(fabs((double)out.suspends / 120 / known[k].suspends_per_s - 1) < 0.03);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_the_shortest_gap),
		cmocka_unit_test(test_delay_is_played_on),
		cmocka_unit_test(test_no_request),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_service),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_bad_input),
		cmocka_unit_test(test_reads_times),
		cmocka_unit_test(test_known_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
