// SPDX-License-Identifier: MIT
#include "scheduler/daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/own_names.h"
#include "common/wait.h"
#include "scheduler/daemon/privileges.h"

#define PIECE 65536u
#define CHECK_NS 1000000u /* ns; polling interval in log_file_end() */

static pid_t writer;

static void put(const char *text, ssize_t length)
{
	while (length > 0) {
		ssize_t n = write(STDERR_FILENO, text, (size_t)length);

		if (n < 0 && errno != EINTR)
			/* the disk may be full: drop this text; later lines may fit */
			return;
		text += n > 0 ? n : 0;
		length -= n > 0 ? n : 0;
	}
}

/* The main function of kfdschedd-log: copies the pipe `in` to stderr until all processes that can
 * write to the pipe have ended. */
static _Noreturn void copy(int in)
{
	static char text[PIECE];
	static uint64_t refused;
	sigset_t all;
	ssize_t n;

	prctl(PR_SET_NAME, NAME_LOG);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	dup2(in, STDIN_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	privilege_drop(FILTER_RECORD, &refused);
	do {
		n = read(STDIN_FILENO, text, sizeof(text));
		put(text, n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	_exit(0);
}

void log_file_begin(void)
{
	int ends[2];

	if (!log_is_file() || pipe2(ends, O_CLOEXEC) < 0)
		return;
	if (fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
		writer = fork();
	if (writer == 0)
		copy(ends[0]);
	close(ends[0]);
	if (writer > 0)
		log_to_pipe(ends[1]);
	else
		close(ends[1]);
}

void log_file_end(void)
{
	uint64_t end = clock_ns() + LOG_FILE_END_NS;

	if (writer <= 0)
		return;
	log_to_pipe(-1);
	while (waitpid(writer, NULL, WNOHANG) == 0 && clock_ns() < end)
		sleep_ns(CHECK_NS);
}
