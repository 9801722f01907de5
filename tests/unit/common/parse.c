// SPDX-License-Identifier: MIT
/*
 * Proves that numbers, times and sizes have one grammar, exact to the nanosecond and the byte. A
 * text that is none of them, or out of range, leaves the result unchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "common/parse.h"

struct good {
	const char *text;
	uint64_t value;
};

static void check(bool (*parse)(const char *, uint64_t *), const struct good *good, size_t n,
		  const char *const *bad)
{
	uint64_t out;

	for (size_t i = 0; i < n; i++) {
		if (!parse(good[i].text, &out))
			fail_msg("'%s' is refused", good[i].text);
		if (out != good[i].value)
			fail_msg("'%s' is read as %llu", good[i].text, (unsigned long long)out);
	}
	for (; *bad; bad++) {
		out = 4711;
		if (parse(*bad, &out))
			fail_msg("'%s' is taken", *bad);
		assert_int_equal(out, 4711);
	}
}

static void numbers(void **state)
{
	static const struct good good[] = {
		{"0", 0}, {"007", 7}, {"18446744073709551615", UINT64_MAX}};
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "1.", "x", "0x1", "18446744073709551616", NULL};

	(void)state;
	check(parse_uint, good, sizeof(good) / sizeof(*good), bad);
}

static void times(void **state)
{
	static const struct good good[] = {
		{"20ms", 20000000},
		{"1.5s", 1500000000},
		{"500us", 500000},
		{"0.5us", 500},
		{".5s", 500000000},
		{"5.s", UINT64_C(5000000000)},
		{"50 ms", 50000000},
		{"1 \t s", 1000000000},
		{"0s", 0},
		{"0.123456789s", 123456789},
		{"0.1234567899999999999999s", 123456789},
		{"1.0000000000000000000000000000000000000ms", 1000000},
		{"18446744073.709551615s", UINT64_MAX},
	};
	static const char *const bad[] = {"",
					  "5",
					  "s",
					  ".s",
					  "-1s",
					  "+1s",
					  " 1s",
					  "1s ",
					  "1sec",
					  "1,5s",
					  "1e3s",
					  "0x1s",
					  "infs",
					  "nans",
					  "1.5.s",
					  "1m",
					  "1h",
					  "18446744073.709551616s",
					  "99999999999999999999s",
					  NULL};

	(void)state;
	check(parse_time_ns, good, sizeof(good) / sizeof(*good), bad);
}

static void sizes(void **state)
{
	static const struct good good[] = {
		{"4096", 4096},
		{"40G", UINT64_C(40) << 30},
		{"1.5G", UINT64_C(3) << 29},
		{"0.5K", 512},
		{"512 M", UINT64_C(512) << 20},
		{"1.25T", UINT64_C(5) << 38},
		{"0", 0},
		{"0.001K", 1},
		{"16777215.9T", UINT64_C(16777215) << 40 | UINT64_C(989560464998)},
	};
	static const char *const bad[] = {"",	"G",	"1g",  "1GB",	    "1KiB", "-1G",
					  "1 ", "1.5.", "1e3", "16777216T", NULL};

	(void)state;
	check(parse_bytes, good, sizeof(good) / sizeof(*good), bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(times),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
