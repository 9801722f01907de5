// SPDX-License-Identifier: MIT
/*
 * Proves that text with control characters, invisible characters or invalid UTF-8 is made safe to
 * print.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/json_util.h"
#include "common/text.h"

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
	becomes(plain_text, "cut \xc2", "cut ?");
}

/* The first and the last character of each class; each of their bytes becomes a '?'. */
static void test_hidden(void **state)
{
	static const char *const texts[] = {
		"\xc2\x80",	    "\xc2\x9f",		/* C1 control characters */
		"\xc2\xad",				/* soft hyphen */
		"\xd8\x9c",				/* Arabic letter mark */
		"\xe2\x80\x8b",	    "\xe2\x80\x8f",	/* zero width; direction marks */
		"\xe2\x80\xa8",	    "\xe2\x80\xa9",	/* line and paragraph separators */
		"\xe2\x80\xaa",	    "\xe2\x80\xae",	/* embeddings, overrides */
		"\xe2\x81\xa0",	    "\xe2\x81\xa6",	/* joiner; isolates */
		"\xe2\x81\xa9",	    "\xe3\x85\xa4",	/* filler */
		"\xef\xb8\x8f",	    "\xef\xbb\xbf",	/* variation; byte order */
		"\xef\xbf\xb9",	    "\xf3\xa0\x80\x80", /* annotation; tags */
		"\xf3\xa0\x80\xa0", "\xf3\xa0\x81\xbf", "\xf3\xa0\x84\x80",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char from[16], to[16];

		snprintf(from, sizeof(from), "a%sz", texts[i]);
		snprintf(to, sizeof(to), "a%.*sz", (int)strlen(texts[i]), "????");
		assert_false(plain_is(from));
		becomes(plain_text, from, to);
		assert_true(plain_is(to));
	}
	/* Neighbours of these classes stay: a full block, a figure dash, a Hebrew letter, a
	 * smiley. */
	becomes(plain_text, "\xe2\x96\x88\xe2\x80\x92\xd7\x90\xf0\x9f\x99\x82",
		"\xe2\x96\x88\xe2\x80\x92\xd7\x90\xf0\x9f\x99\x82");
}

static void test_no_utf8(void **state)
{
	(void)state;
	becomes(plain_text, "\x9b[31m", "?[31m"); /* CSI of an 8-bit terminal */
	becomes(plain_text, "\xff\xfe", "??");
	becomes(plain_text, "\xc0\x8a", "??"); /* an overlong newline */
	becomes(plain_text, "\xe0\x80\x9b", "???");
	becomes(plain_text, "\xed\xa0\x80", "???");	 /* a surrogate */
	becomes(plain_text, "\xf4\x90\x80\x80", "????"); /* above U+10FFFF */
	becomes(plain_text, "\xe2\x80", "??");		 /* truncated */
	becomes(plain_text, "\xf3\xa0\x81", "???");
	becomes(plain_text, "\xe2\x80z", "??z");
	becomes(plain_text, "\xe2\xe2\x82\xac", "?\xe2\x82\xac");
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

/* A name that is printed as JSON keeps its value, in ASCII. In a reply of another program it is
 * replaced. */
static void test_json_as_a_whole(void **state)
{
	static const char name[] = "a\xe2\x80\xae\xc2\x9b"
				   "b\n";
	json_t *json = json_pack("{s[s]s{ss}}", "list", name, "deep", "name", name), *back;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(plain_json_print(json, f, JSON_COMPACT), 0);
	fclose(f);
	assert_true(plain_is(text));
	assert_non_null(strstr(text, "a\\u202E\\u009Bb\\n"));
	back = json_loads(text, 0, NULL);
	assert_true(json_equal(json, back));
	plain_json_strings(back);
	assert_string_equal(json_string_value(json_array_get(json_object_get(back, "list"), 0)),
			    "a?????b?");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(back, "deep"), "name")),
		"a?????b?");
	plain_json_strings(NULL);
	json_decref(back);
	json_decref(json);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminals), cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_no_utf8),	  cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_json),	  cmocka_unit_test(test_json_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
