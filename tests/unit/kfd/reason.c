// SPDX-License-Identifier: MIT
/* Proves the reasons: sentences from the table, names that lead back to their codes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kfd/reason.h"

static void test_sentence(void **state)
{
	struct reason reason;

	(void)state;
	assert_int_equal(reason_set(&reason, REASON_traced, 7, -EAGAIN, "%d", 12), -EAGAIN);
	assert_string_equal(reason.text,
			    "process 7 is traced by thread 12 already (a debugger, strace?)");
	assert_int_equal(reason.code, REASON_traced);
	assert_int_equal(reason.pid, 7);
	reason_set(&reason, REASON_suspend_failed, 0, -EIO, NULL);
	assert_string_equal(reason.text, "a suspend failed: Input/output error");
	reason_add(&reason, "; process %d has the session", 3);
	assert_non_null(strstr(reason.text, "error; process 3 has the session"));
	reason_set(&reason, REASON_NONE, 0, 0, NULL);
	assert_string_equal(reason.text, "");
}

/* A detail from outside is no format, and is cut to the room. */
static void test_detail(void **state)
{
	char longer[REASON_TEXT + 10];
	struct reason reason;

	(void)state;
	reason_set(&reason, REASON_waves_not_saved, 5, 0, "%s", "%d %s %n");
	assert_string_equal(reason.text, "%d %s %n");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	reason_set(&reason, REASON_waves_not_saved, 0, 0, "%s", longer);
	assert_int_equal(strlen(reason.text), REASON_TEXT - 1);
	reason_add(&reason, "more");
	assert_int_equal(strlen(reason.text), REASON_TEXT - 1);
}

static void test_names(void **state)
{
	(void)state;
	for (enum reason_code code = REASON_NONE + 1; code < REASONS; code++)
		assert_int_equal(reason_find(reason_name(code)), code);
	assert_null(reason_name(REASON_NONE));
	assert_null(reason_name(REASONS));
	assert_int_equal(reason_find("of_a_later_version"), REASON_NONE);
	assert_int_equal(reason_find(NULL), REASON_NONE);
	assert_true(reason_is_transient(REASON_runtime_not_yet));
	assert_false(reason_is_transient(REASON_traced));
	assert_false(reason_is_transient(REASONS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentence),
		cmocka_unit_test(test_detail),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
