// SPDX-License-Identifier: MIT
#include "sim/sandbox/time_support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/wait.h"
#include "sim/sandbox/say.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* Linux 5.16; missing in older system headers */
#endif

#define TRIES 10000 /* 1 ms each; enough for a machine under very high load */
#define INSTEAD "run on another kernel, or use --real-time"

/* The time library needs futex_waitv() to wait for a program's futex and the end of a time at
 * once. */
static bool has_futex_waitv(void)
{
	return syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == EINVAL;
}

/* Reads the first word of a /proc file of the process; empty if it cannot be read. */
static void read_word(pid_t pid, const char *name, char *word, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, word, size - 1);
		close(fd);
	}
	word[n > 0 ? n : 0] = '\0';
	word[strcspn(word, " \n")] = '\0';
}

/* Returns whether the kernel has the file and shows another word than @not for a sleeping
 * process. */
static bool shows(pid_t sleeper, const char *name, const char * not )
{
	char word[64];

	for (int i = 0; i < TRIES; i++) {
		read_word(sleeper, name, word, sizeof(word));
		if (!word[0])
			return false;
		if (strcmp(word, not ))
			return true;
		sleep_ns(1000000);
	}
	return false;
}

/* Starts a process that sleeps until the pipe is closed, at the latest when kfdsim ends. */
static pid_t start_sleeper(int pipe_end[2])
{
	pid_t pid;
	char byte;

	if (pipe2(pipe_end, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		close(pipe_end[1]);
		_exit(read(pipe_end[0], &byte, 1) != 0);
	}
	return pid;
}

/* Checks the files of /proc that the proof of idleness reads. */
static void check_sleeper(pid_t sleeper)
{
	if (!shows(sleeper, "wchan", "0"))
		die(STATUS_IMPOSSIBLE,
		    "--virtual needs /proc/PID/wchan with the function in which a thread "
		    "waits, which this kernel does not show (CONFIG_KALLSYMS): " INSTEAD);
	if (!shows(sleeper, "syscall", "running"))
		die(STATUS_IMPOSSIBLE,
		    "--virtual needs /proc/PID/syscall, which this kernel does not have, "
		    "or a security module hides: " INSTEAD);
}

void time_support_check(void)
{
	int pipe_end[2];
	pid_t sleeper;

	if (!has_futex_waitv())
		die(STATUS_IMPOSSIBLE,
		    "--virtual needs the system call futex_waitv, which this kernel does "
		    "not have (Linux 5.16 or later has it) or a container's filter refuses: "
		    "allow it in the filter, " INSTEAD);
	if (access("/proc/loadavg", R_OK))
		die(STATUS_IMPOSSIBLE,
		    "--virtual needs /proc/loadavg (%s), which a /proc with subset=pid "
		    "does not have: mount it without subset, or use --real-time",
		    strerror(errno));
	sleeper = start_sleeper(pipe_end);
	if (sleeper < 0)
		die(STATUS_FAILED, "cannot start a process (%s)", strerror(errno));
	check_sleeper(sleeper);
	close(pipe_end[0]);
	close(pipe_end[1]);
	TEMP_FAILURE_RETRY(waitpid(sleeper, NULL, 0));
}
