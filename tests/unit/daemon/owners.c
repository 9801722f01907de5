// SPDX-License-Identifier: MIT
/*
 * Proves: a uid that subuid(5) assigns to a user counts as that user, including the first and last
 * uid of a range. A malformed line is counted and has no other effect.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/daemon/config/match_rules.h"

static struct owners owners;

static void read_text(const char *text)
{
	char path[] = "/tmp/kfdshim-owners-XXXXXX";
	int fd = mkstemp(path);
	size_t length = strlen(text);

	assert_true(fd >= 0);
	assert_true(write(fd, text, length) == (ssize_t)length);
	close(fd);
	owners_read(path, &owners);
	unlink(path);
}

static void ranges_have_owners(void **state)
{
	(void)state;
	read_text("1000:100000:65536\nroot:200000:1\n# a comment\n\n1001:300000:10");
	assert_int_equal(owners.count, 3);
	assert_int_equal(owners.bad_lines, 0);
	assert_int_equal(owners_find(&owners, 99999), 99999);
	assert_int_equal(owners_find(&owners, 100000), 1000);
	assert_int_equal(owners_find(&owners, 165535), 1000);
	assert_int_equal(owners_find(&owners, 165536), 165536);
	assert_int_equal(owners_find(&owners, 200000), 0);
	assert_int_equal(owners_find(&owners, 200001), 200001);
	assert_int_equal(owners_find(&owners, 300009), 1001);
	assert_int_equal(owners_find(&owners, 0), 0);
	assert_int_equal(owners_find(&owners, 1000), 1000);
}

static void bad_lines_are_counted(void **state)
{
	char longest[2000], text[2100];

	(void)state;
	read_text("no-such-user-here:1:1\n1000:1\n1000:x:1\n1000:1:0\n1000:0:70000\n:1:1\n"
		  "1000:1:4294967296\n1000:5:1x\n1000:7:1\n");
	assert_int_equal(owners.bad_lines, 8);
	assert_int_equal(owners.count, 1);
	assert_int_equal(owners_find(&owners, 7), 1000);
	/* The rest of a line that is too long does not count as a line. */
	memset(longest, '1', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	snprintf(text, sizeof(text), "%s:2:3\n1000:9:1\n", longest);
	read_text(text);
	assert_int_equal(owners.bad_lines, 1);
	assert_int_equal(owners.count, 1);
}

static void what_is_too_much_is_counted(void **state)
{
	char *text = calloc(OWNERS_MAX + 10, 32), *at = text;

	(void)state;
	assert_non_null(text);
	for (unsigned i = 0; i < OWNERS_MAX + 10; i++)
		at += sprintf(at, "1000:%u:1\n", 100000 + i);
	read_text(text);
	free(text);
	assert_int_equal(owners.count, OWNERS_MAX);
	assert_int_equal(owners.unused, 10);
}

static void no_file_has_no_ranges(void **state)
{
	(void)state;
	owners_read("/nonexistent/subuid", &owners);
	assert_int_equal(owners.count, 0);
	assert_int_equal(owners_find(&owners, 100000), 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_have_owners),
		cmocka_unit_test(bad_lines_are_counted),
		cmocka_unit_test(what_is_too_much_is_counted),
		cmocka_unit_test(no_file_has_no_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
