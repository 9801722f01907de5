/* SPDX-License-Identifier: MIT */
/*
 * Starts child processes: forks, executes a program, collects the output of a program. kfdsched
 * starts processes only by these functions, so that the following holds for each of its children:
 * - The kernel sends it a signal when the thread that started it ends, so that it does not outlive
 *   kfdsched, even if that is killed. The signal does not reach the child's own children, and not a
 *   program that changes its user (set-user-ID).
 * - No signal handler of the parent runs in it: a handler writes to a pipe that parent and child
 *   share, so that the parent would take the signal for its own. Signals that are ignored stay
 *   ignored, as nohup(1) needs it for SIGHUP.
 * - Buffered output is written before the fork, so that the child does not write it again.
 * - It can be waited for: SIGCHLD has its default disposition in the parent. If the parent has
 *   inherited it as ignored, the kernel would reap the child, and its status would be lost.
 * - A program starts with SIGPIPE not ignored and no signal blocked, as from a shell. A child that
 *   runs a function of kfdsched keeps both, so that it can read signals from a signalfd.
 *
 * Threads: any. Errors: a negative errno, except for child_fork().
 */
#ifndef KFDSHIM_COMMON_CHILD_H
#define KFDSHIM_COMMON_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_NULL (-1) /* /dev/null */
#define CHILD_PIPE (-2) /* a pipe to the parent */

struct child_program {
	const char *const *argv;	/* argv[0] is searched in PATH unless it contains a slash */
	const char *path;		/* executed instead of argv[0]; NULL: argv[0] is */
	const char *const *environment; /* "NAME=VALUE" sets, "NAME" removes; NULL: no change */
	/* What becomes its stdin, stdout and stderr: an fd, CHILD_NULL or, for stdout and stderr,
	 * CHILD_PIPE. Set in this order, so that STDOUT_FILENO for stderr is the new stdout. */
	int stdio[3];
	int death_signal; /* sent when kfdsched ends; SIGTERM if the program has to clean up */
	bool leads_group; /* it is the leader of a new process group, and can be killed with it */
};

/* Forks as fork(2) does, with errno on an error. The list above has the differences. */
pid_t child_fork(int death_signal, bool leads_group);
/* Starts a program. Writes the read ends (O_NONBLOCK) of the pipes of its stdout and stderr to
 * output[0] and output[1], and -1 for a stream without a pipe. output may be NULL if there is no
 * pipe. Returns the pid, or a negative errno: that of execvp(3) if the program cannot be
 * executed. */
pid_t child_start(const struct child_program *program, int output[2]);
/* Waits for the child's end. Returns its status as waitpid(2) reports it, or an error. */
int child_wait(pid_t pid);
/*
 * Starts a program and waits until it has closed its stdout and has ended, but not beyond
 * `deadline` (common/wait.h). Then kills the program, if it still runs, and its process group. A
 * program that does not end within one second after that is left behind.
 * Copies its stdout to `out`, NUL-terminated, also after an error. death_signal, leads_group and
 * stdout of `program` are ignored. Returns the status as child_wait() does, or an error: also
 * -ETIMEDOUT, and -EFBIG if the output was cut.
 */
int child_collect(const struct child_program *program, uint64_t deadline, char *out, size_t size);

#endif
