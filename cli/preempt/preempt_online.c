// SPDX-License-Identifier: MIT
/*
 * The requests of "kfdsched preempt --online": a child process gives the command to sh again and
 * again, and keeps the times of each run in memory that it shares with its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/preempt/hold_child.h"
#include "cli/preempt/preempt.h"
#include "cli/util/subprocess.h"
#include "common/clock.h"
#include "common/wait.h"

#define CHECK_NS 1000000   /* 1 ms: time between two checks whether the first request is over */
#define FAILED_NS 50000000 /* 50 ms: pause after a request that has failed */

/* Runs the command once. Its output is discarded, but for stderr. Returns the status of
 * waitpid(2). */
static int run_command(const char *command)
{
	pid_t pid = child_fork(SIGKILL, false);
	int status = -1, null;

	if (pid == 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void add(struct preempt_online *online, uint64_t begin_ns, uint64_t end_ns)
{
	if (online->count == PREEMPT_REQUESTS) {
		online->left_out++;
		return;
	}
	online->list[online->count] = (struct preempt_request){begin_ns, end_ns};
	/* The child can be killed at any time: an entry is counted when it is complete. */
	__atomic_store_n(&online->count, online->count + 1, __ATOMIC_RELEASE);
}

static _Noreturn void request_for_ever(const char *command, struct preempt_online *online)
{
	online->first_status = run_command(command);
	__atomic_store_n(&online->begun, true, __ATOMIC_RELEASE);
	for (;;) {
		uint64_t begin_ns = clock_ns();

		if (run_command(command) == 0) {
			add(online, begin_ns, clock_ns());
		} else {
			online->failed++;
			sleep_ns(FAILED_NS);
		}
	}
}

void preempt_online_stop(struct preempt_online *online)
{
	if (!online || online->pid <= 0)
		return;
	kill(-online->pid, SIGKILL);
	while (waitpid(online->pid, NULL, 0) < 0 && errno == EINTR)
		;
	online->pid = 0;
}

int preempt_online_start(const char *command, struct preempt_online **out)
{
	struct preempt_online *online = hold_child_memory(sizeof(*online));

	*out = online;
	if (!online)
		return cli_failed(&cmd_preempt, "out of memory for the requests");
	/* If SIGCHLD is inherited as ignored, the kernel reaps children by itself. */
	signal(SIGCHLD, SIG_DFL);
	online->pid = child_fork(SIGKILL, true);
	if (online->pid == 0)
		request_for_ever(command, online);
	if (online->pid < 0)
		return cli_failed(&cmd_preempt, "cannot start the process for --online: %s",
				  strerror(errno));
	while (!__atomic_load_n(&online->begun, __ATOMIC_ACQUIRE)) {
		if (waitpid(online->pid, NULL, WNOHANG) == online->pid) {
			online->pid = 0;
			return cli_failed(&cmd_preempt, "the process for --online was killed");
		}
		sleep_ns(CHECK_NS);
	}
	if (online->first_status == 0)
		return CLI_GO_ON;
	preempt_online_stop(online);
	return cli_failed(&cmd_preempt,
			  "the command of --online has failed (exit code %d), and nothing was "
			  "suspended: '%s'",
			  cli_exit_code(online->first_status), command);
}
