// SPDX-License-Identifier: MIT
/* Proves: the status of a process with very many groups has the fields behind its groups, and a
 * process cannot place a cut into one of them by the number of its groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/proc.h"

static void assert_read(int groups)
{
	static char status[PROC_STATUS_BYTES];
	pid_t pids[PROC_NS_LEVELS_MAX];
	FILE *file = tmpfile();

	assert_non_null(file);
	fputs("Name:\tx\nTgid:\t7\nUid:\t1\t2\t3\t4\nGroups:\t", file);
	for (int i = 0; i < groups; i++)
		fprintf(file, "%u ", 4000000000u + (unsigned)i);
	fputs("\nNSpid:\t18255\t7\nThreads:\t12\n", file);
	rewind(file);
	assert_int_equal(proc_status_read_from(fileno(file), status, sizeof(status)), 0);
	fclose(file);
	assert_int_equal(proc_status_ns_pids(status, pids), 2);
	assert_int_equal(pids[0], 18255);
	assert_int_equal(pids[1], 7);
	assert_string_equal(proc_status_field(status, "\nThreads:"), "\t12\n");
	assert_null(proc_status_field(status, "\nGroups:"));
	assert_string_equal(proc_status_field(status, "\nUid:\t1\t2\t3\t4\n"),
			    "NSpid:\t18255\t7\nThreads:\t12\n");
}

static void any_number_of_groups(void **state)
{
	(void)state;
	for (int groups = 0; groups < 500; groups++)
		assert_read(groups);
	assert_read(65536);
}

static void of_this_process(void **state)
{
	char status[PROC_STATUS_BYTES];

	(void)state;
	assert_int_equal(proc_status_read(getpid(), status, sizeof(status)), 0);
	assert_int_equal(proc_status_number(getpid(), "\nTgid:"), getpid());
	assert_int_equal(proc_status_number(getpid(), "\nThreads:"), 1);
	assert_true(proc_status_read(-1, status, sizeof(status)) < 0);
	assert_int_equal(status[0], '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_groups),
		cmocka_unit_test(of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
