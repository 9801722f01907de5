// SPDX-License-Identifier: MIT
/* Proves: an entry of the daemon's log is a single line of printable text, whatever bytes a name in
 * it contains, so that a name can neither forge a line nor control the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* clang-format off: cmocka.h needs some of the headers above */
#include <cmocka.h>
/* clang-format on */

#include "scheduler/daemon/log.h"

static void names_are_printed_plainly(void **state)
{
	static const char *const names[][2] = {
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"a\nkfdschedd: forged", "a?kfdschedd: forged"},
		{"\x1b[2J\r", "?[2J?"},
		{"a\xe2\x80\xae"
		 "b",
		 "a???b"},
		{"\xc2\x9b"
		 "31m",
		 "??31m"},
		{"\xf3\xa0\x81\x81", "????"},
		{"\xff cut \xe2\x80", "? cut ??"},
	};
	char text[1024], expected[1024] = "";
	int stderr_fd = dup(STDERR_FILENO), fd = memfd_create("log", MFD_CLOEXEC);
	ssize_t n;

	(void)state;
	assert_true(stderr_fd >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	log_open();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		log_error("process 7 (%s) came", names[i][0]);
		strcat(strcat(strcat(expected, "kfdschedd: process 7 ("), names[i][1]), ") came\n");
	}
	dup2(stderr_fd, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	assert_string_equal(text, expected);
	close(fd);
	close(stderr_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_printed_plainly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
