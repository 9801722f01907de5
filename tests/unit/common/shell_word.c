// SPDX-License-Identifier: MIT
/*
 * Proves that a shell reads the quoted word as the original name, whatever characters it contains,
 * and executes no part of it. A name that cannot be copied from a terminal, or is too long, is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "common/text.h"

#define RUN "/tmp/kfdshim-shell-word-was-run"

/* Asserts that a shell reads the quoted name as an argument unchanged, and executes nothing. */
static void shell_takes(const char *name)
{
	char word[512], line[640], got[512] = "";
	size_t n;
	FILE *f;

	assert_true(shell_word(word, sizeof(word), name));
	snprintf(line, sizeof(line), "printf '%%s|' %s", word);
	f = popen(line, "re");
	assert_non_null(f);
	n = fread(got, 1, sizeof(got) - 1, f);
	assert_int_equal(pclose(f), 0);
	assert_true(n > 0 && got[n - 1] == '|');
	got[n - 1] = '\0';
	assert_string_equal(got, name);
	assert_int_not_equal(access(RUN, F_OK), 0);
}

static void hostile_names(void **state)
{
	static const char *const names[] = {
		"a b",
		"a  b ",
		"'",
		"''",
		"a'b",
		"'; touch " RUN "; '",
		"\"",
		"\\",
		"a\\'b",
		"$(touch " RUN ")",
		"`touch " RUN "`",
		"$HOME",
		"${HOME}",
		"a;touch " RUN,
		"a&touch " RUN,
		"a|touch " RUN,
		"a>" RUN,
		"<a",
		"*",
		"/tmp/?",
		"[a-z]",
		"{a,b}",
		"~",
		"~root",
		"#a",
		"!!",
		"!touch",
		"a=b",
		"(a)",
		"%s",
		"gr\xc3\xbc\xc3\x9f",
		"/sys/fs/cgroup/x.slice/$(touch " RUN ") '\"`/cgroup.freeze",
	};

	(void)state;
	unlink(RUN);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		shell_takes(names[i]);
}

static void harmless_names_stay(void **state)
{
	char word[128];

	(void)state;
	assert_true(shell_word(word, sizeof(word), "/sys/fs/cgroup/a-b.slice/c_1:2@3/x"));
	assert_string_equal(word, "/sys/fs/cgroup/a-b.slice/c_1:2@3/x");
}

static void what_cannot_be_copied(void **state)
{
	static const char *const names[] = {
		"",
		"a\nb",
		"a\rb",
		"a\tb",
		"\x1b[2J",
		"a\x7f",
		"\xc2\x9b",
		"\xe2\x80\xae"
		"gpj",
		"\xff",
		"cut \xe2\x80",
		"-rf",
	};
	char word[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		strcpy(word, "left over");
		assert_false(shell_word(word, sizeof(word), names[i]));
		assert_string_equal(word, "");
	}
}

static void what_does_not_fit(void **state)
{
	char word[8];

	(void)state;
	assert_true(shell_word(word, sizeof(word), "1234567"));
	assert_false(shell_word(word, sizeof(word), "12345678"));
	assert_string_equal(word, "");
	assert_true(shell_word(word, sizeof(word), "1 345"));
	assert_false(shell_word(word, sizeof(word), "1 3456"));
	assert_true(shell_word(word, sizeof(word), "1'"));
	assert_string_equal(shell_word_or(word, sizeof(word), "1''", "USER"), "USER");
	assert_false(shell_word(word, sizeof(word), "1''"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(harmless_names_stay),
		cmocka_unit_test(what_cannot_be_copied),
		cmocka_unit_test(what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
