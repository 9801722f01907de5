// SPDX-License-Identifier: MIT
#include "scheduler/daemon/admission/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/daemon/admission/greeter.h"
#include "scheduler/daemon/log.h"

static uint32_t count; /* processes that have not ended */

/* Runs in the new process. It keeps only `fd` and its end of the pipe. When kfdschedd-door has
 * closed the other end of the pipe, it has also closed its copy of `fd`, so this process is the
 * last holder of `fd` and its exit closes it. */
static void swallow(int fd, int admission_end, int own_end)
{
	char none;

	close(admission_end);
	if (fd != 0)
		dup2(fd, 0);
	if (own_end != 1)
		dup2(own_end, 1);
	syscall(SYS_close_range, 2u, ~0u, 0u);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(1, &none, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

void sink_add(int fd)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0)
		swallow(fd, ends[1], ends[0]);
	close(ends[0]);
	if (pid < 0) {
		log_error("a connection with received file descriptors stays open: %s",
			  "cannot start a process to close it");
		close(ends[1]);
		return;
	}
	count++;
	close(fd); /* cannot block: the new process still has a copy */
	close(ends[1]);
	if (count == ADMISSION_SINKS)
		log_error("%u processes hang while closing file descriptors that clients sent: "
			  "only root's socket is served until one of them has ended; Linux 6.16 "
			  "prevents this",
			  count);
}

void sink_reap(void)
{
	while (count && waitpid(-1, NULL, WNOHANG) > 0)
		count--;
}

bool sink_room(void)
{
	return count < ADMISSION_SINKS;
}
