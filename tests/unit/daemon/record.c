// SPDX-License-Identifier: MIT
/* Proves: kfdschedd --record writes a new file, or overwrites a recording of its own user. Every
 * other file is refused with a reason and stays unchanged. The copy into the file ends with a whole
 * line at the size limit, at the end of the pipe, and at an error, which record_copy() returns. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the first four headers above */
#include <cmocka.h>

#include "scheduler/daemon/recording/record.h"

static char directory[] = "/tmp/test_record.XXXXXX";
static char problem[512];

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static const char *read_file(const char *name)
{
	static char text[256];
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	assert_non_null(f);
	fclose(f);
	text[n] = '\0';
	return text;
}

/* Releases the recording, so that the next record_open() acts as that of another daemon. */
static void forget(void)
{
	int files[RECORD_FILES];

	record_files(files);
	record_close();
	if (files[0] >= 0)
		close(files[0]);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	forget();
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return chdir("/") || system(command);
}

static void assert_refused(const char *name, const char *why)
{
	assert_true(record_open(name, problem, sizeof(problem)) < 0);
	if (!strstr(problem, name) || !strstr(problem, why))
		fail_msg("'%s' does not say '%s'", problem, why);
	assert_int_equal(record_pipe(), -1);
}

static void new_file(void **state)
{
	char expected[64];
	struct stat st;

	(void)state;
	assert_int_equal(record_open("new", problem, sizeof(problem)), 0);
	snprintf(expected, sizeof(expected), "kfdschedd-record 1\nstart %llu\n",
		 (unsigned long long)record_start_ns());
	assert_string_equal(read_file("new"), expected);
	assert_int_equal(stat("new", &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
	assert_true(record_pipe() >= 0 && fcntl(record_pipe(), F_GETFL) & O_NONBLOCK);
}

static void old_recording_is_replaced(void **state)
{
	(void)state;
	write_file("old", "kfdschedd-record 1\nstart 5\n0 worker 4\n5 worker 4\n");
	write_file("empty", "");
	assert_int_equal(record_open("empty", problem, sizeof(problem)), 0);
	forget();
	assert_int_equal(record_open("old", problem, sizeof(problem)), 0);
	assert_null(strstr(read_file("old"), "worker"));
}

static void others_are_refused(void **state)
{
	(void)state;
	write_file("letter", "Dear reader,\nthis is no recording.\n");
	write_file("short", "kfd");
	write_file("target", "kfdschedd-record 1\n");
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_refused("letter", "it exists and is not a recording");
	assert_string_equal(read_file("letter"), "Dear reader,\nthis is no recording.\n");
	assert_refused("short", "it exists and is not a recording");
	assert_refused("link", "it is a symbolic link");
	assert_refused("dangling", "it is a symbolic link");
	assert_refused("fifo", "it is not a regular file");
	assert_refused("/dev/null", "it is not a regular file");
	assert_refused(".", "Is a directory");
	assert_refused("none/x", "No such file or directory");
	assert_int_equal(link("target", "second"), 0);
	assert_refused("target", "it has several hard links");
	assert_string_equal(read_file("target"), "kfdschedd-record 1\n");
}

/* Files of root count as another user's also for the root of a user namespace. */
static void another_users_is_refused(void **state)
{
	(void)state;
	write_file("theirs", "");
	if (chown("theirs", 65534, (gid_t)-1) != 0) {
		/* The test runs as an ordinary user, so chown() is refused. */
		assert_int_equal(errno, EPERM);
		return;
	}
	chmod("theirs", 0666);
	assert_true(record_open("theirs", problem, sizeof(problem)) < 0);
}

static void another_daemons_is_refused(void **state)
{
	(void)state;
	assert_int_equal(record_open("file", problem, sizeof(problem)), 0);
	record_close(); /* the file itself stays open, and so does its lock */
	assert_refused("file", "another daemon is writing it");
}

/* Calls record_copy() with `text` in a pipe and a new file as the destination. */
static int copy(const char *text, uint64_t written, uint64_t max, rlim_t limit)
{
	struct rlimit bound = {limit, RLIM_INFINITY}, before;
	int ends[2], out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), error;

	assert_true(out >= 0 && pipe(ends) == 0);
	assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
	close(ends[1]);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &bound);
	error = record_copy(ends[0], out, written, max);
	setrlimit(RLIMIT_FSIZE, &before);
	close(ends[0]);
	close(out);
	return error;
}

static void copy_ends(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(copy("1 a\n2 b\n", 0, 100, RLIM_INFINITY), 0);
	assert_string_equal(read_file("out"), "1 a\n2 b\n");
	assert_int_equal(copy("1 a\n2 b\n", 0, 8, RLIM_INFINITY), 0);
	assert_int_equal(copy("1 a\n2 b\n", 1, 8, RLIM_INFINITY), 1);
	assert_string_equal(read_file("out"), "");
	assert_int_equal(copy("1 a\n2 b\n", 0, 100, 6), -EFBIG);
	assert_string_equal(read_file("out"), "1 a\n2 ");
}

/* If the file already contains the beginning of a line, the rest of that line is still written. */
static void bound_ends_a_line(void **state)
{
	int ends[2], out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;
	pid_t pid;

	(void)state;
	assert_true(out >= 0 && pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		_exit(record_copy(ends[0], out, 0, 6) == 1 ? 0 : 1);
	}
	close(ends[0]);
	assert_int_equal(write(ends[1], "1 a\n2", 5), 5);
	for (int i = 0; i < 1000 && strcmp(read_file("out"), "1 a\n2") != 0; i++)
		usleep(10000);
	assert_int_equal(write(ends[1], " b\n3 c\n", 7), 7);
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(read_file("out"), "1 a\n2 b\n");
	close(out);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(new_file),
		CASE(old_recording_is_replaced),
		CASE(others_are_refused),
		CASE(another_users_is_refused),
		CASE(another_daemons_is_refused),
		CASE(copy_ends),
		CASE(bound_ends_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
