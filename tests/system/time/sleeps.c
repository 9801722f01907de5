// SPDX-License-Identifier: MIT
/* Proves, for sleeps: the duration, the remaining time after a signal, and refused arguments. */
#include <threads.h>

#include "tests/lib/time_check.h"

static volatile sig_atomic_t handled;

static void count(int signal)
{
	(void)signal;
	handled++;
}

/* A handler that sleeps itself during a sleep. */
static void sleep_in_handler(int signal)
{
	(void)signal;
	handled++;
	sleep_steps(1);
}

static void kinds(void)
{
	struct timespec t = timespec_of(2 * STEP_NS), at;
	uint64_t begin = mono();

	CHECK(!nanosleep(&t, NULL));
	TOOK(begin, 2);
	begin = mono();
	CHECK(!usleep((useconds_t)(STEP_NS / 1000)));
	TOOK(begin, 1);
	begin = mono();
	CHECK(!thrd_sleep(&t, NULL));
	TOOK(begin, 2);
	begin = mono();
	CHECK(!sleep(0));
	TOOK(begin, 0);
	if (is_virtual) { /* in virtual time a test can sleep for whole seconds */
		begin = mono();
		CHECK(!sleep(7));
		TOOK(begin, 7);
		t = timespec_of(STEP_NS + 1);
		begin = mono();
		CHECK(!nanosleep(&t, NULL));
		CHECK(mono() - begin == STEP_NS + 1); /* exact to the nanosecond */
	}
	begin = mono();
	at = after(CLOCK_MONOTONIC, -1);
	CHECK(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL));
	TOOK(begin, 0);
}

static void clocks(void)
{
	static const clockid_t ids[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		struct timespec t = timespec_of(STEP_NS), at = after(ids[i], 1.5);
		uint64_t begin = mono();

		CHECK(!clock_nanosleep(ids[i], TIMER_ABSTIME, &at, NULL));
		CHECK(clock_now(ids[i]) >= ns_of(&at));
		TOOK(begin, 1.499);
		begin = mono();
		CHECK(!clock_nanosleep(ids[i], 0, &t, NULL));
		TOOK(begin, 1);
	}
}

/* With and without SA_RESTART a sleep is not restarted. */
static void interrupted(void)
{
	static const int flags[] = {0, SA_RESTART};

	for (size_t i = 0; i < 2; i++) {
		struct timespec t = timespec_of(AMPLE(4) * STEP_NS), left = {0}, at;
		struct caller caller;
		uint64_t begin = mono();

		on_signal(SIGUSR1, count, flags[i]);
		signal_later(&caller, SIGUSR1, 1);
		CHECK(nanosleep(&t, &left) == -1 && errno == EINTR);
		TOOK(begin, 1);
		CHECK(ns_of(&left) <= (AMPLE(4) - 1) * STEP_NS);
		CHECK(!is_virtual || ns_of(&left) > 3 * STEP_NS - MS_NS);
		signal_joined(&caller);

		begin = mono();
		at = after(CLOCK_REALTIME, AMPLE(4));
		signal_later(&caller, SIGUSR1, 1);
		CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == EINTR);
		TOOK(begin, 1);
		signal_joined(&caller);

		signal_later(&caller, SIGUSR1, 1);
		CHECK(usleep((useconds_t)(STEP_NS / 1000 * AMPLE(3))) == -1 && errno == EINTR);
		signal_joined(&caller);

		signal_later(&caller, SIGUSR1, 1);
		CHECK(thrd_sleep(&t, NULL) == -1);
		signal_joined(&caller);
		if (!is_virtual)
			continue;
		signal_later(&caller, SIGUSR1, 1);
		CHECK(sleep(10) == 9);
		signal_joined(&caller);
	}
}

static void handler_sleeps(void)
{
	static const int flags[] = {0, SA_RESTART};

	for (size_t i = 0; i < 2; i++) {
		struct timespec t = timespec_of(AMPLE(5) * STEP_NS);
		struct caller caller;
		uint64_t begin = mono();

		on_signal(SIGUSR1, sleep_in_handler, flags[i]);
		signal_later(&caller, SIGUSR1, 1);
		CHECK(nanosleep(&t, NULL) == -1 && errno == EINTR);
		TOOK(begin, 2);
		signal_joined(&caller);
	}
}

/* An ignored signal does not end a sleep, nor does a stop and continue of the process. */
static void goes_on_after_stop(void)
{
	uint64_t begin = mono();
	struct timespec t = timespec_of(5 * STEP_NS);
	pid_t self = getpid(), pid;

	on_signal(SIGUSR2, SIG_IGN, 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		sleep_steps(1);
		kill(self, SIGUSR2);
		kill(self, SIGSTOP);
		sleep_steps(2);
		kill(self, SIGCONT);
		_exit(0);
	}
	CHECK(!nanosleep(&t, NULL));
	TOOK(begin, 5);
	CHECK(!ended(pid));
}

static void errors(void)
{
	static const struct timespec bad[] = {{0, 1000000000}, {0, -1}, {-1, 0}};
	const struct timespec none = {0};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK(nanosleep(&bad[i], NULL) == -1 && errno == EINVAL);
		CHECK(clock_nanosleep(CLOCK_REALTIME, 0, &bad[i], NULL) == EINVAL);
	}
	CHECK(clock_nanosleep(CLOCK_MONOTONIC_RAW, 0, &none, NULL) == EOPNOTSUPP);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC_COARSE, 0, &none, NULL) == EOPNOTSUPP);
	CHECK(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &none, NULL) == EINVAL);
	CHECK(clock_nanosleep(99, 0, &none, NULL) == EINVAL);
}

static void *sleep_for_ever(void *arg)
{
	const struct timespec *t = arg;

	nanosleep(t, NULL);
	return NULL;
}

/* Deadlines that no clock reaches: the threads sleep, and the time of the simulation does not jump
 * to them. */
static void for_ever(void)
{
	static const struct timespec ever[] = {
		{INT64_MAX, 999999999}, {INT64_MAX / 2, 0}, {20000000000, 0}, {18446744073, 0}};
	uint64_t begin = mono();
	pthread_t thread;

	for (size_t i = 0; i < sizeof(ever) / sizeof(*ever); i++) {
		CHECK(!pthread_create(&thread, NULL, sleep_for_ever, (void *)&ever[i]));
		CHECK(!pthread_detach(thread));
	}
	sleep_steps(3);
	TOOK(begin, 3);
}

/* In real time a signal ends this sleep. */
static void year(void)
{
	struct timespec t = {365 * 86400, 0};
	uint64_t begin = mono();
	struct caller caller;

	if (is_virtual) {
		CHECK(!nanosleep(&t, NULL));
		TOOK(begin, 365 * 86400);
		return;
	}
	on_signal(SIGUSR1, count, 0);
	signal_later(&caller, SIGUSR1, 1);
	CHECK(nanosleep(&t, &t) == -1 && t.tv_sec > 364 * 86400);
	signal_joined(&caller);
}

static const struct time_case cases[] = {
	{"kinds", kinds},
	{"clocks", clocks},
	{"interrupted", interrupted},
	{"handler_sleeps", handler_sleeps},
	{"goes_on_after_stop", goes_on_after_stop},
	{"errors", errors},
	{"for_ever", for_ever},
	{"year", year},
};

TIME_MAIN(cases)
