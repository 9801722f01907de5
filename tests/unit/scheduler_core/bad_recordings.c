// SPDX-License-Identifier: MIT
/* Proves: a text that is not a recording, is incomplete, or contains what no daemon writes is
 * refused with the number of the line and the values that are allowed there, and never harms the
 * player. The player finds a decision that differs from the recorded one in any of its parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the first four headers above */
#include <cmocka.h>

#include "tests/unit/scheduler_core/recording.h"

#define HEAD "kfdschedd-record 1\nstart 1000\n"
#define WORKER HEAD "0 worker 8\n"
/* An offline client works. An online client comes, preempts the offline client, and goes. */
#define GOOD                                                                                       \
	WORKER "# two clients\n\n"                                                                 \
	       "0 config online_weight=1 hold_over=no\n"                                           \
	       "5 add 1 1 0 2\n5 capability 1 able\n5 active 1 4711\n5 decide 0 never\n"           \
	       "9 add 2 1 0 15\n9 active 2 4711\n9 decide 1 never\n9 suspend 1 yes\n"              \
	       "12 finished 1 0 3\n12 decide 0 30000000009\n"                                      \
	       "20 remove 2\n20 decide 1 never\n20 resume 1 yes\n25 finished 1 0 2\n"
#define LAST "25 decide 0 never\n"

static char problem[512];

static enum recording_result play(const char *text, size_t length)
{
	struct recording_counts counts;
	enum recording_result result;
	FILE *in = fmemopen((void *)text, length, "r");

	assert_non_null(in);
	problem[0] = '\0';
	result = recording_play(in, "x", &counts, problem, sizeof(problem));
	fclose(in);
	assert_int_equal(result == RECORDING_SAME, problem[0] == '\0');
	return result;
}

static void expect(enum recording_result result, const char *text, const char *message)
{
	if (play(text, strlen(text)) != result || !strstr(problem, message))
		fail_msg("'%s'\nis not refused with '%s' but with '%s'", text, message, problem);
}

static void good_is_played(void **state)
{
	(void)state;
	assert_int_equal(play(GOOD LAST, strlen(GOOD LAST)), RECORDING_SAME);
}

static void bad_is_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"\n", "x:1: the file ends before the first decision"},
		{"0 worker 8\n", "x:1: no recording: the first line must be"},
		{"kfdschedd-record\n", "x:1: no recording"},
		{"kfdschedd-record 2\n", "x:1: version 2: this program plays version 1"},
		{"kfdschedd-record 1\n0 worker 8\n", "x:2: the second line must be 'start TIME'"},
		{"kfdschedd-record 1\nstart -1\n", "x:2: the second line"},
		{"kfdschedd-record 1\nstart 18446744073709551616\n", "x:2: the second line"},
		{HEAD, "x:2: the file ends before the first decision"},
		{HEAD "0 add 1 1 0 2\n", "x:3: add: the first event must be worker"},
		{HEAD "0 worker 0\n", "x:3: worker: 0: must be a number of clients"},
		{HEAD "0 worker 65536\n", "must be a number of clients"},
		{HEAD "0 worker\n", "x:3: worker has 1 values, here are 0"},
		{HEAD "0\n", "x:3: a time without an event"},
		{HEAD "x worker 8\n", "x:3: x: must be a time in nanoseconds"},
		{HEAD "1e9 worker 8\n", "must be a time in nanoseconds"},
		{HEAD "1152921504606846977 worker 8\n", "must be a time in nanoseconds"},
		{WORKER "0 frob 1\n", "x:4: unknown event frob"},
		{WORKER "7 decide 0 never\n6 decide 0 never\n", "x:5: time goes back, from 7 to 6"},
		{WORKER "0 add 9 1 0 2\n", "x:4: add: 9: must be the number of a new client"},
		{WORKER "0 add 0 1 0 2\n", "must be the number of a new client"},
		{WORKER "0 add 1 1 0 2\n0 add 65537 1 0 2\n",
		 "x:5: add: 65537: must be the number"},
		{WORKER "0 add 1 1 0 16\n", "x:4: add: 16: must be a priority, -1..15"},
		{WORKER "0 add 1 1 0 -2\n", "must be a priority, -1..15"},
		{WORKER "0 add 1 4294967296 0 2\n", "must be a number, 0..4294967295"},
		{WORKER "0 add 1 1 0\n", "x:4: add has 4 values, here are 3"},
		{WORKER "0 add 1 1 0 2 2\n", "x:4: add has 4 values, here are 5"},
		{WORKER "0 remove 1\n", "x:4: remove: 1: must be a client that was added"},
		{WORKER "0 add 1 1 0 2\n0 remove 1\n0 idle 1 7\n",
		 "x:6: idle: 1: must be a client"},
		{WORKER "0 add 1 1 0 2\n1 worker 8\n2 remove 1\n", "x:6: remove: 1: must be"},
		{WORKER "0 add 1 1 0 2\n0 move 1 1 1 0x 0\n", "must be 0, or 0x and at most 16"},
		{WORKER "0 add 1 1 0 2\n0 move 1 1 0x11112222333344445 0 0\n", "must be 0, or 0x"},
		{WORKER "0 add 1 1 0 2\n0 capability 1 maybe\n",
		 "must be pending, able or refused"},
		{WORKER "0 add 1 1 0 2\n0 leaving 1 1\n", "x:5: leaving: 1: must be yes or no"},
		{WORKER "0 add 1 1 0 2\n0 finished 1 5 0\n", "must be 0 or a negative errno"},
		{WORKER "0 add 1 1 0 2\n0 finished 1 -4096 0\n", "must be 0 or a negative errno"},
		{WORKER "0 add 1 1 0 2\n0 slo 1 99999999999999999999\n", "at most 2^60"},
		{WORKER "0 add 1 1 0 2\n0 lease 1 soon\n", "or never, or none"},
		{WORKER "0 policy 0 share 0\n", "x:4: policy share has a share of 1..99"},
		{WORKER "0 policy 0 share 100\n", "must be a percentage"},
		{WORKER "0 policy 0 kind 1\n", "must be strict, share, deadline, observe"},
		{WORKER "0 config share_window_ns=0\n", "share_window_ns=0: must be 1 at least"},
		{WORKER "0 config min_run_ns\n", "x:4: min_run_ns: must be KEY=VALUE"},
		{WORKER "0 config min_run=1\n", "unknown key min_run of the configuration"},
		{WORKER "0 config hold_over=1\n", "hold_over=1: must be yes or no"},
		{WORKER "0 config online_weight=1001\n", "must be a number, 0..1000"},
		{WORKER "0 config max_online_overhead=101\n", "must be a percentage, 0..100"},
		{WORKER "0 config max_holds_per_s=0\n", "unknown key max_holds_per_s"},
		{WORKER "0 config policy=share share_percent=0\n", "policy share has a share"},
		{WORKER "0 decide 9 never\n", "x:4: 9 actions, and there are 8 clients at most"},
		{WORKER "0 suspend 1 yes\n", "x:4: suspend: 1: must be a client"},
		{WORKER "0 add 1 1 0 2\n0 suspend 1 yes\n",
		 "x:5: an action that the last decision"},
		{WORKER "0 decide 0 none\n", "at most 2^60, or never"},
		{WORKER "0 decide 1 never\n0 decide 0 never\n",
		 "x:5: decide: the last decision has 1"},
		{WORKER "0 decide 1 never\n", "x:4: the file ends after 0 of 1 actions"},
		{WORKER "0 decide 0 never", "x:4: the last line does not end"},
		{WORKER "0 decide 0 never\r\n", "x:4: not text: byte 0xd"},
		{WORKER "0\tdecide 0 never\n", "x:4: not text: byte 0x9"},
		{WORKER "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", "more than 16 words"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		expect(RECORDING_BAD, bad[i].text, bad[i].message);
}

static void long_line_is_refused(void **state)
{
	char text[1000];

	(void)state;
	memset(text, '#', sizeof(text));
	memcpy(text, WORKER, strlen(WORKER));
	strcpy(text + sizeof(text) - 2, "\n");
	expect(RECORDING_BAD, text, "x:4: longer than 400 characters");
	assert_int_equal(play("\0\n", 2), RECORDING_BAD);
	assert_non_null(strstr(problem, "not text: byte 0"));
}

static void difference_is_found(void **state)
{
	static const struct {
		const char *text, *message;
	} other[] = {
		{GOOD "25 decide 0 26\n", "x:21: the core's next deadline is never, and 26 in"},
		{GOOD "25 decide 1 never\n25 suspend 1 yes\n",
		 "x:22: the core decides 0 actions and not 1, without: suspend 1 yes"},
		{GOOD LAST "30 add 2 1 0 15\n30 active 2 4711\n30 decide 0 never\n",
		 "x:24: the core decides 1 actions and not 0; the next is: suspend 1 yes"},
		{GOOD LAST
		 "30 add 2 1 0 15\n30 active 2 4711\n30 decide 1 never\n30 suspend 2 yes\n",
		 "x:25: the core decides: suspend 1 yes; in the recording: suspend 2 yes"},
		{GOOD LAST
		 "30 add 2 1 0 15\n30 active 2 4711\n30 decide 1 never\n30 suspend 1 no\n",
		 "x:25: the core decides: suspend 1 yes; in the recording: suspend 1 no"},
		{GOOD LAST
		 "30 add 2 1 0 15\n30 active 2 4711\n30 decide 1 never\n30 resume 1 yes\n",
		 "x:25: the core decides: suspend 1 yes; in the recording: resume 1 yes"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		expect(RECORDING_DIFFERS, other[i].text, other[i].message);
}

/* The text is cut at each byte, and each byte is replaced: the player plays it or refuses it with a
 * message. */
static void malformed_is_harmless(void **state)
{
	static const char good[] = GOOD LAST, bytes[] = "\n 9-x#\xff";
	char text[sizeof(good)];
	unsigned refused = 0;

	(void)state;
	for (size_t i = 1; i < sizeof(good) - 1; i++)
		refused += play(good, i) == RECORDING_BAD;
	/* a cut at the end of a line can leave a valid recording */
	assert_true(refused > sizeof(good) * 9 / 10);
	for (size_t i = 0; i < sizeof(good) - 1; i++)
		for (size_t b = 0; b < sizeof(bytes); b++) {
			memcpy(text, good, sizeof(good));
			text[i] = bytes[b];
			play(text, sizeof(good) - 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_is_played),	 cmocka_unit_test(bad_is_refused),
		cmocka_unit_test(long_line_is_refused),	 cmocka_unit_test(difference_is_found),
		cmocka_unit_test(malformed_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
