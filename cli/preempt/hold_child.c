// SPDX-License-Identifier: MIT
/* A child that holds another process, and the parent that watches the child. */
#include "cli/preempt/hold_child.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/util/subprocess.h"

/* Signals that end the work early; the parent forwards them to the child. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define ENDING (sizeof(ending) / sizeof(ending[0]))

/* The child, for the signal handler. */
static pid_t acting;

void *hold_child_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void forward(int signal)
{
	kill(acting, signal);
}

/* An ignored SIGHUP stays ignored, because nohup has set it so on purpose. An ignored SIGINT does
 * not: a shell ignores it for every command that is started with &. */
static bool is_unwanted(int signal)
{
	struct sigaction now;

	return signal == SIGHUP && sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* In the child: opens the signalfd and runs act(). */
static int child(const struct cli_command *cmd, int (*act)(void *context, int signals),
		 void *context, const sigset_t *set)
{
	int signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);

	if (signals < 0)
		return cli_failed(cmd, "cannot create a file descriptor for signals: %s",
				  strerror(errno));
	return act(context, signals);
}

/* Waits for the child's end, and kills the child if it is stopped (SIGSTOP, a debugger): a stopped
 * child keeps the target suspended, whereas its death ends the session, and the driver or the
 * daemon resumes the target. Returns the exit code. */
static int await(enum hold_child_end *end)
{
	int status = 0;

	*end = HOLD_CHILD_RETURNED;
	for (;;) {
		if (waitpid(acting, &status, WUNTRACED) < 0) {
			if (errno == EINTR)
				continue; /* a signal was forwarded */
			*end = HOLD_CHILD_KILLED;
			return CLI_FAILED;
		}
		if (!WIFSTOPPED(status))
			break;
		*end = HOLD_CHILD_STOPPED;
		kill(acting, SIGKILL);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (*end == HOLD_CHILD_RETURNED)
		*end = HOLD_CHILD_KILLED;
	return CLI_FAILED;
}

int hold_child_run(const struct cli_command *cmd, int (*act)(void *context, int signals),
		   void *context, enum hold_child_end *end)
{
	struct sigaction action = {.sa_handler = forward}, old[ENDING];
	sigset_t set, before;
	int code;

	*end = HOLD_CHILD_RETURNED;
	/* If SIGCHLD is inherited as ignored, the kernel reaps the child by itself. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	for (size_t i = 0; i < ENDING; i++)
		if (!is_unwanted(ending[i]))
			sigaddset(&set, ending[i]);
	sigaddset(&set, SIGCHLD);
	/* The child must not stop on Ctrl-Z, because its target would stay suspended meanwhile.
	 * So SIGTSTP is blocked, but not read from the signalfd. */
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, &before);
	sigdelset(&set, SIGTSTP);
	acting = child_fork(SIGKILL, false);
	if (acting < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return cli_failed(cmd, "cannot start a child process: %s", strerror(errno));
	}
	if (acting == 0)
		exit(child(cmd, act, context, &set));
	for (size_t i = 0; i < ENDING; i++)
		if (!is_unwanted(ending[i]))
			sigaction(ending[i], &action, &old[i]);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	code = await(end);
	/* The number of the child may be another process's from now on. */
	for (size_t i = 0; i < ENDING; i++)
		if (!is_unwanted(ending[i]))
			sigaction(ending[i], &old[i], NULL);
	return code;
}

const char *hold_child_errmsg(enum hold_child_end end)
{
	switch (end) {
	case HOLD_CHILD_KILLED:
		return "the child that holds the process was killed";
	case HOLD_CHILD_STOPPED:
		return "the child that holds the process was stopped, and was ended for that";
	case HOLD_CHILD_RETURNED:
		break;
	}
	return "the process has ended";
}
