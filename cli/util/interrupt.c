// SPDX-License-Identifier: MIT
#include "cli/util/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/wait.h"

static const int asking[] = {SIGINT, SIGTERM, SIGHUP};
#define ASKING (sizeof(asking) / sizeof(asking[0]))

/* Self-pipe: the signal handler writes a byte, which is never read, so that wake[0] stays
 * readable. */
static int wake[2] = {-1, -1};

/* Makes stop_fd() readable. Because of SA_RESETHAND, a second signal of the same number has its
 * default effect. */
static void on_signal(int signal)
{
	int keep = errno;

	(void)signal;
	if (write(wake[1], "", 1) < 0)
		errno = keep;
	errno = keep;
}

int stop_begin(const struct cli_command *cmd)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;

	if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK))
		return cli_failed(cmd, "cannot handle signals: %s", strerror(errno));
	for (size_t i = 0; i < ASKING; i++) {
		/* A signal that is ignored (SIGHUP after nohup) stays ignored. */
		sigaction(asking[i], NULL, &before);
		if (before.sa_handler != SIG_IGN)
			sigaction(asking[i], &action, NULL);
	}
	return CLI_DONE;
}

int stop_fd(void)
{
	return wake[0];
}

bool stop_requested(void)
{
	return poll_now(wake[0], POLLIN) > 0;
}

bool stop_sleep_until(uint64_t ns)
{
	return poll_one_ns(wake[0], POLLIN, ns) > 0;
}
