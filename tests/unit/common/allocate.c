// SPDX-License-Identifier: MIT
/* Proves that a list grows without losing its elements, and that a lack of memory ends the
 * process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/allocate.h"

static void test_list_grows(void **state)
{
	size_t room = 0;
	int *list = NULL;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		list = allocate_next(list, (size_t)i, &room, sizeof(*list));
		list[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	free(list);
}

static void test_no_memory_ends_the_process(void **state)
{
	int talk[2], status;
	char text[256];
	pid_t pid;
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(talk), 0);
	pid = fork();
	if (pid == 0) {
		dup2(talk[1], STDERR_FILENO);
		allocated(NULL);
		_exit(0);
	}
	close(talk[1]);
	n = read(talk[0], text, sizeof(text) - 1);
	close(talk[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, ": out of memory\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_grows),
		cmocka_unit_test(test_no_memory_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
