// SPDX-License-Identifier: MIT
/*
 * Proves the reader of simulation.json: it is read as documented, two states are subtracted, and a
 * file that deviates from the documentation is an error, never taken for hardware.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/util/sim_info.h"

#define GOOD                                                                                       \
	"{\"simulated\":true,\"profile\":\"mi210\",\"time_scale\":%s,"                             \
	"\"costs\":{\"bounce_us\":200,\"packet_us\":0.5},"                                         \
	"\"doorbell_delay_ns\":{\"count\":%d,\"sum\":%d,\"max\":1023,\"buckets\":[[1023,%d]]},"    \
	"\"bounces\":%d,\"bounce_ns\":%d,"                                                         \
	"\"save_ns\":{\"count\":1,\"sum\":31,\"max\":31,\"buckets\":[[31,1]]},"                    \
	"\"restore_ns\":{\"count\":0,\"sum\":0,\"max\":0,\"buckets\":[]}}"

static char path[] = "/tmp/cli_simulation_XXXXXX";
static struct simulation first, second;

static void put(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_good(const char *time_scale, int n)
{
	char text[1024];

	snprintf(text, sizeof(text), GOOD, time_scale, n, n * 1000, n, n, n * 200000);
	put(text);
}

static void test_reads_and_subtracts(void **state)
{
	(void)state;
	put_good("0.1", 3);
	assert_int_equal(simulation_read(path, &first), 0);
	assert_string_equal(first.profile, "mi210");
	assert_true(first.time_scale == 0.1);
	assert_true(first.update_us == 200);
	assert_int_equal(first.updates, 3);
	assert_int_equal(first.save.sum, 31);
	put_good("0.1", 10);
	assert_int_equal(simulation_read(path, &second), 0);
	simulation_subtract(&second, &first);
	assert_int_equal(second.updates, 7);
	assert_int_equal(second.update_ns, 7 * 200000);
	assert_int_equal(second.doorbell.count, 7);
	assert_int_equal(second.doorbell.sum, 7000);
	assert_int_equal(hist_percentile(&second.doorbell, 0.99), 1023);
	assert_int_equal(second.save.count, 0);
}

static void test_whole_numbers_are_numbers(void **state)
{
	(void)state;
	put_good("1", 1);
	assert_int_equal(simulation_read(path, &first), 0);
	assert_true(first.time_scale == 1);
}

static void test_absent_is_hardware(void **state)
{
	(void)state;
	assert_int_equal(simulation_read("/nonexistent/simulation.json", &first), -ENOENT);
}

static void test_refuses_what_is_not_documented(void **state)
{
	static const char *const bad[] = {"", "{", "[]", "{}", "{\"simulated\":true}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(bad[i]);
		assert_int_equal(simulation_read(path, &first), -EINVAL);
	}
	put_good("0", 1);
	assert_int_equal(simulation_read(path, &first), -EINVAL);
	put_good("-1", 1);
	assert_int_equal(simulation_read(path, &first), -EINVAL);
	put_good("\"x\"", 1);
	assert_int_equal(simulation_read(path, &first), -EINVAL);
	put_good("1", -1);
	assert_int_equal(simulation_read(path, &first), -EINVAL);
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
		cmocka_unit_test(test_reads_and_subtracts),
		cmocka_unit_test(test_whole_numbers_are_numbers),
		cmocka_unit_test(test_absent_is_hardware),
		cmocka_unit_test(test_refuses_what_is_not_documented),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
