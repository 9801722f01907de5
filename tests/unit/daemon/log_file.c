// SPDX-License-Identifier: MIT
/* Proves:
 *  - While a write to the daemon's log (a regular file) blocks, the process that logs goes on.
 *    Lines that do not fit into the pipe are counted. The file has all other lines, complete and in
 *    order, before log_file_end() returns.
 *  - If the writing process has ended, lines are written to the file directly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/daemon/log.h"

#define LINES 2000 /* more lines than a pipe can hold */

static struct {
	volatile sig_atomic_t stands; /* while set, a write to the file blocks */
	volatile unsigned own;	      /* number of writes to the file by the process that logs */
} * played;
static pid_t self;

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	if (fd == STDERR_FILENO && getpid() == self)
		played->own++;
	while (fd == STDERR_FILENO && getpid() != self && played->stands)
		;
	return __real_write(fd, data, size);
}

static int stderr_fd, file;

static int begin(void **state)
{
	(void)state;
	self = getpid();
	signal(SIGPIPE, SIG_IGN);
	played = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stderr_fd = dup(STDERR_FILENO);
	file = memfd_create("log", MFD_CLOEXEC);
	if (played == MAP_FAILED || stderr_fd < 0 || file < 0 || dup2(file, STDERR_FILENO) < 0)
		return -1;
	log_open();
	log_file_begin();
	return 0;
}

static int end(void **state)
{
	(void)state;
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	close(file);
	return munmap(played, 4096);
}

/* Reads the numbered lines of the file and checks that every missing number was counted. Returns
 * the number of lines. */
static unsigned check_lines(void)
{
	unsigned lines = 0, number, next = 0, missing = 0, counted = 0;
	FILE *f = fdopen(dup(file), "r");
	char line[512];

	rewind(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "kfdschedd: %u lines are missing here", &number) == 1 &&
		    strstr(line, "missing")) {
			counted += number;
			continue;
		}
		assert_int_equal(sscanf(line, "kfdschedd: line %u", &number), 1);
		assert_true(number >= next && line[strlen(line) - 1] == '\n');
		missing += number - next;
		next = number + 1;
		lines++;
	}
	fclose(f);
	assert_int_equal(missing, counted);
	return lines;
}

static void a_write_that_stands_holds_up_nothing(void **state)
{
	unsigned lines;

	(void)state;
	played->stands = 1;
	for (unsigned i = 0; i < LINES; i++)
		log_info("line %u of a log that is written to a file %080u", i, i);
	assert_int_equal(played->own, 0);
	played->stands = 0;
	usleep(100000);
	log_info("line %u", LINES);
	log_file_end();
	lines = check_lines();
	assert_in_range(lines, 100, LINES); /* at least the lines that fit into a pipe */
}

static void without_its_process_lines_are_written_all_the_same(void **state)
{
	char name[64];
	FILE *f = NULL;
	pid_t writer = 0;

	(void)state;
	snprintf(name, sizeof(name), "/proc/self/task/%d/children", (int)self);
	f = fopen(name, "re");
	assert_true(f && fscanf(f, "%d", &writer) == 1);
	fclose(f);
	kill(writer, SIGKILL);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	for (unsigned i = 0; i < 3; i++)
		log_info("line %u", i);
	assert_int_equal(played->own, 3);
	assert_int_equal(check_lines(), 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_write_that_stands_holds_up_nothing),
		TEST(without_its_process_lines_are_written_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
