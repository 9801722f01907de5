// SPDX-License-Identifier: MIT
/* Proves KFDSHIM_LOG: with info each event is logged once, by default nothing is. A log line
 * neither kills nor blocks the program. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "shim/config.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

static struct fake_daemon daemon_;
static int log_fd;
static char text[8192];

static int lines_with(const char *what)
{
	ssize_t n = pread(log_fd, text, sizeof(text) - 1, 0);
	int count = 0;

	text[n > 0 ? n : 0] = '\0';
	for (const char *at = text; (at = strstr(at, what)); at++)
		count++;
	return count;
}

/* Plays a daemon that comes late and dies, and a GPU without the debug capability. */
static void a_life(const char *level)
{
	struct fake_queue q;
	uint64_t handle;
	int own;

	if (level)
		setenv("KFDSHIM_LOG", level, 1);
	else
		unsetenv("KFDSHIM_LOG");
	setenv("KFDSHIM_VRAM_LIMIT", "4K", 1);
	log_fd = memfd_create("said", MFD_CLOEXEC);
	own = dup(STDERR_FILENO);
	CHECK(log_fd >= 0 && own >= 0);
	fake_daemon_open(&daemon_);
	fake_daemon_die(&daemon_);
	CHECK(dup2(log_fd, STDERR_FILENO) >= 0);
	fake_start();
	CHECK(fake_queue_create(&q, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	CHECK(fake_alloc(FAKE_GPU, 8192, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &handle) == -1);
	fake_sleep_us(1200000); /* longer than a second try */
	fake_daemon_listen(&daemon_);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	fake_daemon_die(&daemon_);
	if (level && strcmp(level, "info") == 0)
		EVENTUALLY(lines_with("no daemon listens at ") == 2, 5000);
	else
		fake_sleep_us(500000);
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(dup2(own, STDERR_FILENO) >= 0);
	fake_daemon_remove(&daemon_);
}

static void info_logs_what_happens(void)
{
	static const struct {
		int times;
		const char *what;
	} expected[] = {
		{1, "node 19729 does not support debugging (capability); only observed\n"},
		{1, "8192 bytes of VRAM on node 19729 are refused: KFDSHIM_VRAM_LIMIT is 4096"},
		{2, "no daemon listens at "}, /* before it came, and after it died */
		{1, "registered with the daemon at "},
		{1, "the connection to the daemon at "},
	};
	char prefix[32];
	int all = 0;

	a_life("info");
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		CHECK(lines_with(expected[i].what) == expected[i].times);
		all += expected[i].times;
	}
	CHECK(lines_with("\n") == all);
	snprintf(prefix, sizeof(prefix), "kfdshim[%d]: ", (int)getpid());
	CHECK(lines_with(prefix) == all);
}

static void nothing_of_it_is_an_error(void)
{
	a_life("error");
	CHECK(lines_with("\n") == 0);
}

static void silent_by_default(void)
{
	a_life(NULL);
	CHECK(lines_with("\n") == 0);
}

/* Returns the errno after kfdshim_log(). A write to `fd` would raise SIGPIPE, or block. */
static int log_into(int fd)
{
	int own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), left;

	signal(SIGPIPE, SIG_DFL);
	CHECK(own >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	config.log = LOG_ERROR;
	alarm(20);
	errno = EXDEV;
	kfdshim_log(LOG_ERROR, "is there anybody?");
	left = errno;
	alarm(0);
	CHECK(dup2(own, STDERR_FILENO) >= 0);
	return left;
}

static void a_reader_that_has_gone(void)
{
	int ends[2];

	CHECK(pipe(ends) == 0);
	close(ends[0]);
	CHECK(log_into(ends[1]) == EXDEV);
}

static void a_pipe_that_is_full(void)
{
	const char some[4096] = "";
	size_t written = 0, have = 0;
	ssize_t n;
	int ends[2];

	CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
	while ((n = write(ends[1], some, sizeof(some))) > 0)
		written += (size_t)n;
	CHECK(written > 0 && fcntl(ends[1], F_SETFL, 0) == 0);
	CHECK(log_into(ends[1]) == EXDEV);
	/* The line was dropped. When the pipe has room again, the next line is written. */
	CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	while ((n = read(ends[0], text, sizeof(text))) > 0)
		have += (size_t)n;
	CHECK(have == written);
	CHECK(log_into(ends[1]) == EXDEV);
	n = read(ends[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	CHECK(strstr(text, ": is there anybody?\n") != NULL);
}

IN_CHILD(a_reader_that_has_gone)
IN_CHILD(a_pipe_that_is_full)
IN_CHILD(info_logs_what_happens)
IN_CHILD(nothing_of_it_is_an_error)
IN_CHILD(silent_by_default)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reader_that_has_gone),
		cmocka_unit_test(test_a_pipe_that_is_full),
		cmocka_unit_test(test_info_logs_what_happens),
		cmocka_unit_test(test_nothing_of_it_is_an_error),
		cmocka_unit_test(test_silent_by_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
