// SPDX-License-Identifier: MIT
/*
 * Proves when kfd_context.c takes a KFD context for ended, and that its number is used again only
 * when what belongs to it was removed. It is linked without the table of queues and the sampler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/kfd_context.h"

#define SECOND 1000000000u

static uint32_t asked;	/* the context that ended() was last called for; 0: none */
static bool is_removed; /* what ended() returns */

static bool ended(uint32_t context)
{
	asked = context;
	return is_removed;
}

/* Makes the step of that second. Returns the context that ended() was called for. */
static uint32_t asked_at(unsigned second, uint64_t *next_ns)
{
	asked = 0;
	*next_ns = contexts_step((uint64_t)second * SECOND, ended);
	return asked;
}

static int open_file(void)
{
	int fd = memfd_create("kfd", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void test_context_belongs_to_the_open_file(void **state)
{
	int first = open_file(), second = open_file(), copy;

	(void)state;
	contexts_forget();
	assert_int_equal(context_of_fd(first), CONTEXT_PRIMARY);
	context_new(first);
	copy = dup(first);
	assert_int_equal(context_of_fd(first), 1);
	assert_int_equal(context_of_fd(copy), 1);
	assert_int_equal(context_of_fd(second), CONTEXT_PRIMARY);
	context_new(second);
	assert_int_equal(context_of_fd(second), 2);
	close(first);
	close(copy);
	close(second);
}

static void test_two_scans_without_a_trace(void **state)
{
	int fd = open_file(), copy, other;
	uint64_t next_ns;

	(void)state;
	contexts_forget();
	is_removed = false;
	assert_int_equal(asked_at(1, &next_ns), 0);
	assert_true(next_ns == UINT64_MAX); /* there is no second context */
	context_new(fd);
	copy = dup(fd);
	close(fd);
	for (unsigned i = 2; i < 5; i++) {
		assert_int_equal(asked_at(i, &next_ns), 0);
		assert_true(next_ns == (i + 1ull) * SECOND);
	}
	close(copy);
	assert_int_equal(asked_at(5, &next_ns), 0);
	assert_int_equal(asked_at(5, &next_ns), 0); /* too early to scan again */
	assert_int_equal(asked_at(6, &next_ns), 1);
	/* What belongs to it cannot be removed yet, so the number stays taken. */
	other = open_file();
	context_new(other);
	assert_int_equal(context_of_fd(other), 2);
	assert_int_equal(asked_at(7, &next_ns), 1);
	assert_true(next_ns == 8ull * SECOND);
	is_removed = true;
	assert_int_equal(asked_at(8, &next_ns), 1);
	assert_int_equal(asked_at(9, &next_ns), 0);
	fd = open_file();
	context_new(fd);
	assert_int_equal(context_of_fd(fd), 1);
	close(fd);
	close(other);
	(void)asked_at(10, &next_ns);
	(void)asked_at(11, &next_ns);
	assert_true(next_ns == UINT64_MAX); /* none is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context_belongs_to_the_open_file),
		cmocka_unit_test(test_two_scans_without_a_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
