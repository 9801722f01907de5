// SPDX-License-Identifier: MIT
/*
 * A debugger that acts as rocgdb does: it starts a program, opens a debug session on it before its
 * runtime begins, and lets it run.
 *
 *   foreign traced|untraced LIBRARY COMMAND...
 *
 * LIBRARY is preloaded into the program. traced: the debugger stays the tracer and sends the
 * runtime events when the runtime begins or ends. untraced: it sends runtime events in advance and
 * detaches from the thread; the session stays (from Linux 6.12.103 on it could also be used).
 *
 * Prints the PID of the program and runs until the program ends or it is killed itself, in which
 * case the driver ends the session.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd/uapi.h"

/* runtime events sent in advance, because an untraced target gets no replies later */
#define AHEAD 8

static int kfd;
static pid_t child;

static int die(const char *what)
{
	fprintf(stderr, "foreign: %s: %s\n", what, strerror(errno));
	kill(child, SIGKILL);
	exit(1);
}

static void trap(struct kfdabi_dbg_trap *args, const char *what)
{
	args->pid = (uint32_t)child;
	if (ioctl(kfd, KFDABI_IOC_DBG_TRAP, args) < 0)
		die(what);
}

static void reply(void)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_SEND_RUNTIME_EVENT};

	args.u.send_runtime_event.exception_mask = kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME);
	trap(&args, "SEND_RUNTIME_EVENT");
}

static int enable(void)
{
	struct kfdabi_dbg_trap args = {.op = KFDABI_TRAP_ENABLE};
	struct kfdabi_runtime_info info;
	int ends[2];

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
		die("pipe");
	args.u.enable.exception_mask = kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME);
	args.u.enable.rinfo_ptr = (uintptr_t)&info;
	args.u.enable.rinfo_size = sizeof(info);
	args.u.enable.dbg_fd = (uint32_t)ends[1];
	trap(&args, "ENABLE");
	close(ends[1]);
	return ends[0];
}

/* Starts the program and stops it after its exec, because a session does not survive an exec. */
static void start(const char *library, char **argv)
{
	int status;

	child = fork();
	if (child == 0) {
		setenv("LD_PRELOAD", library, 1);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		die("the program does not start");
}

static void serve(void)
{
	int status;

	while (waitpid(child, &status, WNOHANG | __WALL) == child) {
		if (!WIFSTOPPED(status))
			exit(0);
		ptrace(PTRACE_CONT, child, NULL, (void *)(long)WSTOPSIG(status));
	}
}

int main(int argc, char **argv)
{
	bool traced = argc > 1 && strcmp(argv[1], "traced") == 0;
	char dots[64];
	ssize_t n;

	if (argc < 4) {
		fprintf(stderr, "usage: foreign traced|untraced LIBRARY COMMAND...\n");
		return 2;
	}
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (kfd < 0)
		die("/dev/kfd");
	start(argv[2], argv + 3);
	struct pollfd events = {.fd = enable(), .events = POLLIN};

	for (int i = 0; !traced && i < AHEAD; i++)
		reply();
	ptrace(traced ? PTRACE_CONT : PTRACE_DETACH, child, NULL, NULL);
	/* Printed only now, because the state that a test finds must be the final one. */
	printf("%d\n", (int)child);
	fflush(stdout);
	for (;;) {
		if (traced)
			serve();
		if (poll(&events, 1, 20) <= 0)
			continue;
		if (events.revents & (POLLHUP | POLLERR))
			return 0;
		n = read(events.fd, dots, sizeof(dots));
		for (; traced && n > 0; n--)
			reply();
	}
}
