// SPDX-License-Identifier: MIT
/* Proves ITIMER_REAL: setitimer, alarm and ualarm, also across fork and exec. */
#include <sys/time.h>

#include "tests/lib/time_check.h"

static volatile sig_atomic_t alarms;

static void count(int signal)
{
	(void)signal;
	alarms++;
}

static struct timeval timeval_of(double steps)
{
	struct timespec t = timespec_of((uint64_t)(steps * (double)STEP_NS));

	return (struct timeval){t.tv_sec, t.tv_nsec / 1000};
}

static struct itimerval val(double value, double interval)
{
	return (struct itimerval){timeval_of(interval), timeval_of(value)};
}

static void set(double value, double interval)
{
	const struct itimerval new = val(value, interval);

	CHECK(!setitimer(ITIMER_REAL, &new, NULL));
}

static uint64_t ns_of_timeval(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * S_NS + (uint64_t)t->tv_usec * 1000;
}

static void begin_counting(void)
{
	alarms = 0;
	on_signal(SIGALRM, count, SA_RESTART);
	block_signal(SIGALRM);
}

static void once(void)
{
	uint64_t begin = mono();

	begin_counting();
	set(1.5, 0);
	wait_for_signals(&alarms, 1);
	TOOK(begin, 1.5);
	allow_signals();
	sleep_steps(2);
	CHECK(alarms == 1);
	TOOK(begin, 3.5);
}

static void periodic(void)
{
	uint64_t begin = mono();

	begin_counting();
	set(1, 0.5);
	wait_for_signals(&alarms, 5);
	TOOK(begin, 3);
	set(0, 0);
	allow_signals();
	sleep_steps(2);
	CHECK(alarms == 5 || !is_virtual);
}

/* The timer ends a sleep, which returns the remaining time. In real time it could expire before the
 * sleep, so the test runs in virtual time only. */
static void interrupts(void)
{
	struct timespec t = timespec_of(5 * STEP_NS), left = {0};
	uint64_t begin = mono();

	if (!is_virtual)
		return;
	begin_counting();
	allow_signals();
	set(2, 0);
	CHECK(nanosleep(&t, &left) == -1 && errno == EINTR);
	TOOK(begin, 2);
	CHECK(ns_of(&left) <= 3 * STEP_NS && ns_of(&left) >= 3 * STEP_NS - MS_NS);
}

static void read_value(void)
{
	struct itimerval now, next = val(10, 0);

	begin_counting();
	CHECK(!getitimer(ITIMER_REAL, &now));
	CHECK(!ns_of_timeval(&now.it_value) && !ns_of_timeval(&now.it_interval));
	set(60, 7);
	sleep_steps(2);
	CHECK(!getitimer(ITIMER_REAL, &now));
	CHECK(ns_of_timeval(&now.it_interval) == 7 * STEP_NS);
	CHECK(ns_of_timeval(&now.it_value) <= 58 * STEP_NS);
	CHECK(!is_virtual || ns_of_timeval(&now.it_value) >= 58 * STEP_NS - MS_NS);
	CHECK(!setitimer(ITIMER_REAL, &next, &now));
	CHECK(ns_of_timeval(&now.it_interval) == 7 * STEP_NS);
	set(0, 0);
}

static void alarm_itself(void)
{
	uint64_t begin = mono();

	begin_counting();
	CHECK(alarm(100) == 0);
	sleep_steps(10);
	if (is_virtual)
		CHECK(alarm(20) == 90);
	CHECK(alarm(0) > 0);
	if (is_virtual) {
		begin = mono();
		CHECK(alarm(3) == 0);
		wait_for_signals(&alarms, 1);
		TOOK(begin, 3);
		CHECK(alarm(0) == 0);
	}
	begin = mono();
	CHECK(ualarm((useconds_t)(STEP_NS / 2000), 0) == 0);
	wait_for_signals(&alarms, alarms + 1);
	TOOK(begin, 0.5);
}

/* A child does not inherit the timer, and the parent's timer continues. */
static void check_none(void *arg)
{
	struct itimerval now;
	int before = alarms;

	(void)arg;
	CHECK(!getitimer(ITIMER_REAL, &now) && !ns_of_timeval(&now.it_value));
	sleep_steps(2);
	CHECK(alarms == before);
}

static void forked(void)
{
	uint64_t begin = mono();

	begin_counting();
	allow_signals();
	set(1, 0);
	CHECK(ended(start_process(check_none, NULL)) == 0);
	CHECK(alarms == 1);
	TOOK(begin, 2);
}

/* After exec the new program has the timer, whose signal ends it. */
static void become_sleep(void *arg)
{
	(void)arg;
	set(2, 0);
	execlp("sleep", "sleep", "100", (char *)NULL);
	CHECK(!"exec");
}

static void executed(void)
{
	uint64_t begin = mono();

	allow_signals();
	CHECK(ended(start_process(become_sleep, NULL)) == 256 + SIGALRM);
	TOOK(begin, 2);
}

/* While the signal is blocked, one is pending and no more. */
static void blocked(void)
{
	begin_counting();
	set(1, 1);
	sleep_steps(4.5);
	set(0, 0);
	CHECK(alarms == 0);
	allow_signals();
	CHECK(alarms == 1);
}

static void refused(void)
{
	struct itimerval bad = {.it_value = {0, 1000000}}, now;
	struct itimerval cpu = {{0, 0}, {100, 0}};

	CHECK(setitimer(ITIMER_REAL, &bad, NULL) == -1 && errno == EINVAL);
	bad = (struct itimerval){.it_value = {-1, 0}};
	CHECK(setitimer(ITIMER_REAL, &bad, NULL) == -1 && errno == EINVAL);
	/* Timers of CPU time are handled by the kernel. */
	CHECK(!setitimer(ITIMER_PROF, &cpu, NULL));
	CHECK(!getitimer(ITIMER_PROF, &now) && now.it_value.tv_sec >= 99);
	cpu = (struct itimerval){0};
	CHECK(!setitimer(ITIMER_PROF, &cpu, NULL));
}

static const struct time_case cases[] = {
	{"once", once},		{"periodic", periodic},	 {"interrupts", interrupts},
	{"shown", read_value},	{"alarm", alarm_itself}, {"forked", forked},
	{"executed", executed}, {"blocked", blocked},	 {"refused", refused},
};

TIME_MAIN(cases)
