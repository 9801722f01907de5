// SPDX-License-Identifier: MIT
/* What becomes of texts that are no text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/plain_text.h"

static void becomes(char *(*make)(char *text), const char *from, const char *to)
{
	char text[64];

	strcpy(text, from);
	assert_ptr_equal(make(text), text);
	assert_string_equal(text, to);
}

static void test_terminals(void **state)
{
	(void)state;
	becomes(plain_text, "", "");
	becomes(plain_text, "kernel <8>", "kernel <8>");
	becomes(plain_text, "a\n\x1b[31mb\x7f", "a??[31mb?");
	becomes(plain_text, "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	becomes(plain_text,
		"\xc2\x9b"
		"31m \xc2\xa0",
		"??31m \xc2\xa0");
	becomes(plain_text, "cut \xc2", "cut \xc2");
}

static void test_ascii(void **state)
{
	(void)state;
	becomes(plain_ascii, "py~ thon", "py~ thon");
	becomes(plain_ascii, "\tgr\xc3\xbc\x7f\xff", "?gr????");
}

static void json_is(json_t *json, const char *text)
{
	assert_non_null(json);
	assert_string_equal(json_string_value(json), text);
	json_decref(json);
}

static void test_json(void **state)
{
	(void)state;
	json_is(plain_json("gr\xc3\xbc\n"), "gr\xc3\xbc\n");
	json_is(plain_json("gr\xc3\xbc \xff\n"), "gr?? ?\n");
	json_is(plain_json(""), "");
	json_is(plain_or_null("\xff"), "?");
	assert_true(json_is_null(plain_or_null("")));
	assert_true(json_is_null(plain_or_null(NULL)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminals),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
