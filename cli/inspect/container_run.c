// SPDX-License-Identifier: MIT
/* Runs the command of a container engine, with a timeout. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/inspect/container_engine.h"
#include "common/clock.h"
#include "common/wait.h"

#define VARIABLES 4096u
#define NAP_NS 2000000u

/* Copy the environment without LD_PRELOAD, so that the command does not load the shim. */
static void environment(char **out)
{
	size_t n = 0;

	for (char **at = environ; *at && n + 1 < VARIABLES; at++)
		if (strncmp(*at, "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
			out[n++] = *at;
	out[n] = NULL;
}

/* Start the command in a process group of its own, so that all of its processes can be killed, with
 * default signal handling. */
static int start(const char *const *argv, int output, pid_t *pid)
{
	static char *variables[VARIABLES];
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int error;

	environment(variables);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	error = posix_spawnp(pid, argv[0], &files, &attributes, (char *const *)argv, variables);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -error;
}

/* Read the output until the command closes it. */
static int take(int from, char *out, size_t size, uint64_t deadline)
{
	struct pollfd fd = {.fd = from, .events = POLLIN};
	size_t used = 0;
	ssize_t n;

	for (;;) {
		int ready = poll_until_ns(&fd, 1, deadline);

		if (ready <= 0)
			return ready ? ready : -ETIMEDOUT;
		n = read(from, out + used, size - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
		if (used == size)
			return -EFBIG;
	}
	out[used] = '\0';
	return 0;
}

static int await(pid_t pid, uint64_t deadline)
{
	siginfo_t info = {0};

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0) {
		if (clock_ns() >= deadline)
			return -ETIMEDOUT;
		sleep_ns(NAP_NS);
	}
	return info.si_code == CLD_EXITED && info.si_status == 0 ? 0 : -EIO;
}

int container_names_run(const char *const *argv, char *out, size_t size, unsigned timeout_ms)
{
	const uint64_t deadline = clock_ns() + timeout_ms * 1000000ull;
	int pipes[2], error;
	pid_t pid;

	out[0] = '\0';
	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	error = start(argv, pipes[1], &pid);
	close(pipes[1]);
	if (!error) {
		error = take(pipes[0], out, size, deadline);
		if (!error)
			error = await(pid, deadline);
		/* The child has not been reaped yet, so its pid still names its process group. */
		kill(-pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(pipes[0]);
	if (error)
		out[0] = '\0';
	return error;
}
