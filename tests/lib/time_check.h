/* SPDX-License-Identifier: MIT */
/*
 * Framework for programs that check the behaviour of waits and clocks. Each program is a table of
 * cases and runs twice, so that virtual time is checked against what Linux does:
 *
 *   PROGRAM virtual   under kfdsim --virtual: UNIT is 1 s, and a wait of one unit lasts that long
 *                     with a tolerance of 1 ms
 *   PROGRAM real      under kfdsim: UNIT is 20 ms, and a wait may be late, but not early
 *
 * `PROGRAM virtual CASE...` runs only these cases.
 */
#ifndef KFDSHIM_TESTS_LIB_TIME_CHECK_H
#define KFDSHIM_TESTS_LIB_TIME_CHECK_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define S_NS 1000000000ull
#define MS_NS 1000000ull
#define REAL_STEP_NS (20 * MS_NS)
#ifndef VIRTUAL_STEP_NS
#define VIRTUAL_STEP_NS S_NS
#endif
#define LATE_NS (20 * S_NS) /* tolerance in real time, because the machine may be busy */

struct time_case {
	const char *name;
	void (*run)(void);
};

static bool is_virtual;
static bool failed;
static const char *current;

#define STEP_NS (is_virtual ? VIRTUAL_STEP_NS : REAL_STEP_NS)
/* Upper limit in units for something that comes earlier; in real time it may be late. */
#define AMPLE(steps) (is_virtual ? (steps) : 1000)

/* Reports a failure and goes on; the program fails at its end. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			int check_errno = errno;                                                   \
			printf("FAILED: %s:%d: %s: %s (errno %d)\n", __FILE__, __LINE__, current,  \
			       #condition, check_errno);                                           \
			fflush(stdout);                                                            \
			failed = true;                                                             \
		}                                                                                  \
	} while (0)

__attribute__((unused)) static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * S_NS + (uint64_t)t->tv_nsec;
}

__attribute__((unused)) static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / S_NS), (long)(ns % S_NS)};
}

__attribute__((unused)) static uint64_t clock_now(clockid_t clock)
{
	struct timespec t = {0};

	CHECK(!clock_gettime(clock, &t));
	return ns_of(&t);
}

__attribute__((unused)) static uint64_t mono(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

/* Returns the time `steps` from now, as an absolute time of `clock`. */
__attribute__((unused)) static struct timespec after(clockid_t clock, double steps)
{
	return timespec_of(clock_now(clock) + (uint64_t)(steps * (double)STEP_NS));
}

__attribute__((unused)) static void sleep_steps(double steps)
{
	struct timespec t = timespec_of((uint64_t)(steps * (double)STEP_NS));

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* Checks that at least `steps` have passed since begin_ns, and at most late_ns more. */
static void took_within(uint64_t begin_ns, double steps, uint64_t late_ns, int line)
{
	uint64_t took = mono() - begin_ns, wanted = (uint64_t)(steps * (double)STEP_NS);

	if (took >= wanted && took - wanted <= (is_virtual ? late_ns : LATE_NS))
		return;
	printf("FAILED: line %d: %s took %.6f s instead of %.6f s\n", line, current,
	       (double)took / 1e9, (double)wanted / 1e9);
	fflush(stdout);
	failed = true;
}

#define TOOK(begin_ns, steps) took_within(begin_ns, steps, MS_NS, __LINE__)

struct caller {
	pthread_t thread, target;
	double steps;
	int signal;
};

static void *call_later(void *arg)
{
	const struct caller *caller = arg;

	sleep_steps(caller->steps);
	pthread_kill(caller->target, caller->signal);
	return NULL;
}

/* Sends `signal` to the calling thread in `steps`. Finish with signal_joined(). */
__attribute__((unused)) static void signal_later(struct caller *caller, int signal, double steps)
{
	sigset_t all, old;

	*caller = (struct caller){.target = pthread_self(), .steps = steps, .signal = signal};
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	CHECK(!pthread_create(&caller->thread, NULL, call_later, caller));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

__attribute__((unused)) static void signal_joined(struct caller *caller)
{
	CHECK(!pthread_join(caller->thread, NULL));
}

__attribute__((unused)) static void on_signal(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	CHECK(!sigaction(signal, &action, NULL));
}

/* Blocks a signal, so that it is delivered only in wait_for_signals() and none is missed. */
__attribute__((unused)) static void block_signal(int signal)
{
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, signal);
	sigprocmask(SIG_BLOCK, &block, NULL);
}

__attribute__((unused)) static void allow_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Waits until a handler has counted `n` signals. */
__attribute__((unused)) static void wait_for_signals(const volatile sig_atomic_t *counted, int n)
{
	sigset_t none;

	sigemptyset(&none);
	while (*counted < n)
		CHECK(sigsuspend(&none) == -1 && errno == EINTR);
}

/* Returns a timer's setting: its first expiration and its period, in units. */
__attribute__((unused)) static struct itimerspec timer_spec(double value, double interval)
{
	return (struct itimerspec){timespec_of((uint64_t)(interval * (double)STEP_NS)),
				   timespec_of((uint64_t)(value * (double)STEP_NS))};
}

/* Waits for the child. Returns its exit code, or 256 + N if signal N ended it. */
__attribute__((unused)) static int ended(pid_t pid)
{
	int status = 0;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Runs `run` in a child process, which exits with 0 if no check failed. Returns its pid. */
__attribute__((unused)) static pid_t start_process(void (*run)(void *), void *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	failed = false;
	run(arg);
	_exit(failed);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc <= 2;
}

static int time_main(int argc, char **argv, const struct time_case *cases, size_t n)
{
	size_t ran = 0;

	is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	if (!is_virtual && (argc < 2 || strcmp(argv[1], "real"))) {
		printf("usage: %s real|virtual [CASE]...\n", argv[0]);
		return 2;
	}
	closefrom(3); /* file descriptors that the caller of the tests left open */
	for (size_t i = 0; i < n; i++) {
		if (!is_wanted(cases[i].name, argc, argv))
			continue;
		current = cases[i].name;
		cases[i].run();
		ran++;
	}
	printf("%zu cases, %s\n", ran, failed ? "FAILED" : "passed");
	return failed || !ran;
}

#define TIME_MAIN(cases)                                                                           \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return time_main(argc, argv, cases, sizeof(cases) / sizeof(*(cases)));             \
	}

#endif
