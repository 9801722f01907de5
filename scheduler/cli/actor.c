// SPDX-License-Identifier: MIT
#include "scheduler/cli/actor.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What ends the work early. The parent passes them on. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define ENDING (sizeof(ending) / sizeof(ending[0]))

static pid_t acting;

void *actor_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void forward(int signal)
{
	kill(acting, signal);
}

/* Who ignores SIGHUP (nohup) means it; SIGINT a shell ignores for what it starts with &. */
static bool is_unwanted(int signal)
{
	struct sigaction now;

	return signal == SIGHUP && sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static int child(const struct verb *verb, int (*act)(void *context, int signals), void *context,
		 const sigset_t *set)
{
	int signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);

	if (signals < 0)
		return cli_failed(verb, "no descriptor for signals: %s", strerror(errno));
	return act(context, signals);
}

/* A child that stands still resumes nobody; its end does. */
static int await(enum actor_end *end)
{
	int status = 0;

	*end = ACTOR_RETURNED;
	for (;;) {
		if (waitpid(acting, &status, WUNTRACED) < 0) {
			if (errno == EINTR)
				continue; /* a signal was forwarded */
			*end = ACTOR_KILLED;
			return CLI_FAILED;
		}
		if (!WIFSTOPPED(status))
			break;
		*end = ACTOR_STOPPED;
		kill(acting, SIGKILL);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (*end == ACTOR_RETURNED)
		*end = ACTOR_KILLED;
	return CLI_FAILED;
}

int actor_run(const struct verb *verb, int (*act)(void *context, int signals), void *context,
	      enum actor_end *end)
{
	struct sigaction action = {.sa_handler = forward}, old[ENDING];
	pid_t parent = getpid();
	sigset_t set, before;
	int code;

	*end = ACTOR_RETURNED;
	/* If SIGCHLD is inherited as ignored, the kernel reaps the child by itself. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	for (size_t i = 0; i < ENDING; i++)
		if (!is_unwanted(ending[i]))
			sigaddset(&set, ending[i]);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTSTP); /* it goes on: its target must not stand meanwhile */
	sigprocmask(SIG_BLOCK, &set, &before);
	sigdelset(&set, SIGTSTP);
	fflush(NULL);
	acting = fork();
	if (acting < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return cli_failed(verb, "no process for it: %s", strerror(errno));
	}
	if (acting == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(getppid() == parent ? child(verb, act, context, &set) : CLI_FAILED);
	}
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

const char *actor_sentence(enum actor_end end)
{
	switch (end) {
	case ACTOR_KILLED:
		return "it was killed in its work";
	case ACTOR_STOPPED:
		return "it was stopped in its work, and so ended";
	case ACTOR_RETURNED:
		break;
	}
	return "it has ended";
}
