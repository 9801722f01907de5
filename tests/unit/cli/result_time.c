// SPDX-License-Identifier: MIT
/*
 * Proves the shares of the GPU's time, calculated from two readings of simulation.json and of the
 * daemon: they add up to the whole even if the two disagree, also for several processes, and an
 * unknown value is not 0.
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
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/colocate/result.h"

#define GPU(run, held, idle, processes)                                                            \
	"{\"gpu_id\":7,\"time_ns\":{\"run\":" #run ",\"bounce\":2000,\"save\":300,"                \
	"\"restore\":100,\"held_ready\":50,\"held\":" #held ",\"idle\":" #idle "},"                \
	"\"processes\":" processes "}"
#define SIMULATION(gpus) "{\"gpus\":[" gpus "]}"

static char path[] = "/tmp/cli_result_time_XXXXXX";
static struct time_reading first, second;
static struct result_time result;

static int read_text(const char *text, const pid_t *pids, unsigned n, struct time_reading *out)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return time_read(path, pids, n, out);
}

static void adds_up(void)
{
	double sum = 0;

	for (enum time_share i = 0; i < TIME_SHARES; i++) {
		assert_true(result.us[i] >= 0);
		sum += time_percent(&result, i);
	}
	assert_true(fabs(sum - 100) < 1e-9);
}

static void test_reads(void **state)
{
	(void)state;
	assert_int_equal(
		read_text(SIMULATION(GPU(900, 70, 5,
					 "[{\"pid\":3,\"run_ns\":400},{\"pid\":4,\"run_ns\":500},"
					 "{\"pid\":3,\"run_ns\":40}]") "," GPU(0, 0, 9, "null")),
			  (const pid_t[]){3}, 1, &first),
		0);
	assert_int_equal(first.n_gpus, 2);
	assert_int_equal(first.gpus[0].ns[PART_RUN], 900);
	assert_int_equal(first.gpus[0].ns[PART_HELD], 70);
	assert_int_equal(first.gpus[0].process_ns, 440);
	assert_int_equal(first.gpus[1].ns[PART_IDLE], 9);
	assert_false(first.gpus[0].process_unknown);
	assert_true(first.gpus[1].process_unknown);
}

static void test_refuses_what_is_not_documented(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		SIMULATION(""),
		SIMULATION("{}"),
		SIMULATION(GPU(-1, 0, 0, "[]")),
		SIMULATION(GPU(1, "x", 0, "[]")),
		SIMULATION(GPU(1, 0, 0, "[{\"pid\":3}]")),
	};
	const pid_t pids[] = {3, 4};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_text(bad[i], pids, 1, &first), -EINVAL);
		assert_int_equal(first.n_gpus, 0);
	}
	assert_int_equal(
		read_text(SIMULATION(GPU(1, 0, 0, "[{\"pid\":3,\"run_ns\":1}]")), pids, 2, &first),
		-EINVAL);
	assert_int_equal(time_read("/nonexistent/simulation.json", pids, 1, &first), -ENOENT);
}

/* Sets up two readings with this difference in ns on the second of two GPUs; the first GPU is
 * idle. */
static void spend(const uint64_t ns[TIME_PARTS], uint64_t process_ns, double held_over_us)
{
	first = (struct time_reading){.n_gpus = 2, .held_over_us = 5, .wall_ns = 1000};
	second = first;
	second.wall_ns = 101000;
	second.held_over_us += held_over_us;
	second.gpus[0].ns[PART_IDLE] = 100000;
	for (unsigned i = 0; i < TIME_PARTS; i++) {
		first.gpus[1].ns[i] = 1000 + i;
		second.gpus[1].ns[i] = 1000 + i + ns[i];
	}
	first.gpus[1].process_ns = 17;
	second.gpus[1].process_ns = 17 + process_ns;
	time_between(&first, &second, 1, &result);
}
#define SPEND(process_ns, held_over_us, ...)                                                       \
	spend((const uint64_t[TIME_PARTS]){__VA_ARGS__}, process_ns, held_over_us)

static void test_shares(void **state)
{
	(void)state;
	SPEND(50000, 4, [PART_RUN] = 70000, [PART_UPDATE] = 6000, [PART_SAVE] = 2000,
	      [PART_RESTORE] = 1000, [PART_HELD] = 10000, [PART_HELD_READY] = 8000,
	      [PART_IDLE] = 3000);
	adds_up();
	assert_true(time_percent(&result, TIME_OFFLINE) == 50);
	assert_true(time_percent(&result, TIME_ONLINE) == 20);
	assert_true(time_percent(&result, TIME_UPDATES) == 6);
	assert_true(time_percent(&result, TIME_SAVE_RESTORE) == 3);
	assert_true(time_percent(&result, TIME_DETECTION) == 6);
	assert_true(time_percent(&result, TIME_HOLD_OVER) == 4);
	assert_true(time_percent(&result, TIME_IDLE_HELD) == 8);
	assert_true(time_percent(&result, TIME_OWN_GAPS) == 3);
	assert_true(result.all_us == 100);
}

#define SHARE(pid, run, share) "{\"pid\":" #pid ",\"run_ns\":" #run ",\"run_share_ns\":" #share "}"

/* Of several processes that ran at once each has its part, so that time counts once. */
static void test_several_processes(void **state)
{
	const pid_t pids[] = {3, 5};

	(void)state;
	assert_int_equal(read_text(SIMULATION(GPU(100, 10, 20,
						  "[" SHARE(3, 60, 40) "," SHARE(4, 50, 30) "]")),
				   pids, 2, &first),
			 0);
	assert_int_equal(
		read_text(SIMULATION(GPU(70100, 10010, 20020,
					 "[" SHARE(3, 45060, 30040) "," SHARE(
						 4, 30050, 15030) "," SHARE(5, 40000, 25000) "]")),
			  pids, 2, &second),
		0);
	assert_int_equal(second.gpus[0].process_ns, 55040);
	second.held_over_us = first.held_over_us + 4;
	time_between(&first, &second, 1, &result);
	adds_up();
	assert_true(time_percent(&result, TIME_OFFLINE) == 55);
	assert_true(time_percent(&result, TIME_ONLINE) == 15);
	assert_true(time_percent(&result, TIME_DETECTION) == 6);
	assert_true(time_percent(&result, TIME_OWN_GAPS) == 20);
	/* One of them has ended, though the sum of the parts has not become smaller. */
	first.gpus[0].processes = 3;
	time_between(&first, &second, 1, &result);
	assert_true(isnan(time_percent(&result, TIME_OFFLINE)));
}

/* The readings of the daemon and of the GPU are not from the same instant. */
static void test_what_cannot_be_is_cut(void **state)
{
	(void)state;
	SPEND(90000, 40, [PART_RUN] = 80000, [PART_HELD] = 10000, [PART_IDLE] = 10000);
	adds_up();
	assert_true(time_percent(&result, TIME_OFFLINE) == 80);
	assert_true(time_percent(&result, TIME_HOLD_OVER) == 10);
	assert_true(time_percent(&result, TIME_DETECTION) == 0);
}

static void test_time_scale(void **state)
{
	(void)state;
	SPEND(0, 40, [PART_HELD] = 10000, [PART_IDLE] = 10000);
	/* 40 us of wall time are 4 us of the GPU's time */
	time_between(&first, &second, 0.1, &result);
	adds_up();
	assert_true(time_percent(&result, TIME_HOLD_OVER) == 20);
	assert_true(time_percent(&result, TIME_DETECTION) == 30);
}

static void nothing_but(bool held_over)
{
	json_t *json = time_json(&result), *value;
	const char *key;

	assert_int_equal(json_object_size(json), TIME_SHARES);
	json_object_foreach(json, key, value)
		assert_int_equal(json_is_null(value), !held_over || strcmp(key, "hold_over") != 0);
	json_decref(json);
}

static void test_what_is_not_known(void **state)
{
	(void)state;
	SPEND(1, NAN, [PART_RUN] = 10); /* not reported by the daemon */
	nothing_but(false);
	SPEND(1, 0, [PART_RUN] = 10); /* the process has ended */
	second.gpus[1].process_ns = 0;
	time_between(&first, &second, 1, &result);
	nothing_but(false);
	/* One of many processes, if there are too many to list. */
	SPEND(0, 0, [PART_RUN] = 10);
	second.gpus[1].process_ns = 0;
	second.gpus[1].process_unknown = true;
	time_between(&first, &second, 1, &result);
	assert_true(isnan(result.us[TIME_OFFLINE]) && isnan(result.us[TIME_ONLINE]));
	assert_true(result.us[TIME_DETECTION] == 0);
	result = time_unknown();
	nothing_but(false);
	/* On hardware. */
	first.n_gpus = second.n_gpus = 0;
	second.held_over_us = first.held_over_us + 25;
	time_between(&first, &second, 1, &result);
	nothing_but(true);
	assert_true(time_percent(&result, TIME_HOLD_OVER) == 25);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_refuses_what_is_not_documented),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_several_processes),
		cmocka_unit_test(test_what_cannot_be_is_cut),
		cmocka_unit_test(test_time_scale),
		cmocka_unit_test(test_what_is_not_known),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
