// SPDX-License-Identifier: MIT
/* Proves, for the clocks: they agree with each other, advance while a program sleeps or polls them,
 * and stand still while it computes. */
#include <poll.h>
#include <sched.h>
#include <sys/time.h>

#include "tests/lib/time_check.h"

#define COARSE_NS (20 * MS_NS) /* maximum by which a coarse clock may be behind */

static const clockid_t clocks[] = {
	CLOCK_REALTIME,		CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
	CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,	 CLOCK_TAI,
};
#define CLOCKS (sizeof(clocks) / sizeof(*clocks))

static void all_go_on(void)
{
	uint64_t before[CLOCKS], passed;

	for (size_t i = 0; i < CLOCKS; i++)
		before[i] = clock_now(clocks[i]);
	sleep_steps(3);
	for (size_t i = 0; i < CLOCKS; i++) {
		passed = clock_now(clocks[i]) - before[i];
		CHECK(passed + COARSE_NS >= 3 * STEP_NS);
		CHECK(passed <= 3 * STEP_NS + (is_virtual ? COARSE_NS : LATE_NS));
	}
}

static void agree(void)
{
	uint64_t real = clock_now(CLOCK_REALTIME), since_start = mono();
	struct timespec standard = {0};
	struct timeval day = {0};
	time_t seconds;

	CHECK(timespec_get(&standard, TIME_UTC) == TIME_UTC);
	CHECK(!gettimeofday(&day, NULL));
	CHECK(time(&seconds) == seconds);
	CHECK(ns_of(&standard) - real < LATE_NS);
	CHECK((uint64_t)day.tv_sec * S_NS + (uint64_t)day.tv_usec * 1000 + 1000 - real < LATE_NS);
	/* time() reads a coarse clock: just after the end of a second it may still return the
	 * previous one. */
	CHECK((uint64_t)seconds * S_NS + S_NS + COARSE_NS - real <= LATE_NS + S_NS + COARSE_NS);
	CHECK(clock_now(CLOCK_BOOTTIME) >= since_start);
}

/* A sleep uses no CPU time. */
static void cpu_clocks_are_real(void)
{
	uint64_t process = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t thread = clock_now(CLOCK_THREAD_CPUTIME_ID);

	sleep_steps(1);
	CHECK(clock_now(CLOCK_PROCESS_CPUTIME_ID) - process < STEP_NS);
	CHECK(clock_now(CLOCK_THREAD_CPUTIME_ID) - thread < STEP_NS);
	CHECK(clock_now(CLOCK_PROCESS_CPUTIME_ID) > process);
}

static void errors(void)
{
	struct timespec t;

	CHECK(clock_gettime(12345, &t) == -1 && errno == EINVAL);
	CHECK(!timespec_get(&t, 99));
	CHECK(time(NULL) > 0);
}

static uint64_t by_day(void)
{
	struct timeval t;

	gettimeofday(&t, NULL);
	return (uint64_t)t.tv_sec * S_NS + (uint64_t)t.tv_usec * 1000;
}

static uint64_t by_real(void)
{
	return clock_now(CLOCK_REALTIME);
}

static uint64_t by_yield(void)
{
	sched_yield();
	return mono();
}

static uint64_t by_poll(void)
{
	poll(NULL, 0, 0);
	return mono();
}

/* A program that waits by reading the clock repeatedly, in each of the usual ways. */
static void spin_until(void)
{
	static uint64_t (*const ways[])(void) = {mono, by_real, by_day, by_yield, by_poll};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		uint64_t begin = mono(), until = ways[i]() + STEP_NS / 50;

		while (ways[i]() < until)
			;
		TOOK(begin, 0.02 - 1e-4);
	}
}

static void raw_spin(void)
{
	uint64_t begin = clock_now(CLOCK_MONOTONIC_RAW), at;
	unsigned reads = 0;

	do {
		at = clock_now(CLOCK_MONOTONIC_RAW);
		reads++;
	} while (at < begin + MS_NS);
	CHECK(is_virtual ? reads < 1000 : at - begin < LATE_NS);
}

/* If the core is taken away in the middle, this clock advances meanwhile, faster than real time: a
 * program that calibrates the processor's counter with it must not find the counter slow. */
static void raw_spin_interrupted(void)
{
	uint64_t begin = clock_now(CLOCK_MONOTONIC_RAW), cpu = clock_now(CLOCK_THREAD_CPUTIME_ID),
		 at;

	for (unsigned i = 0; i < 50; i++)
		clock_now(CLOCK_MONOTONIC_RAW);
	while (clock_now(CLOCK_THREAD_CPUTIME_ID) < cpu + 20 * MS_NS)
		;
	do
		at = clock_now(CLOCK_MONOTONIC_RAW);
	while (at < begin + MS_NS);
	CHECK(at - begin > (is_virtual ? 2000 * MS_NS : 20 * MS_NS));
}

static void never_goes_back(void)
{
	uint64_t last = mono(), at;

	for (unsigned i = 0; i < 50000; i++) {
		at = mono();
		if (at < last)
			CHECK(at >= last);
		last = at;
	}
}

/* About 20 ms of a processor. Only virtual time stands still meanwhile. */
static void computing_takes_no_time(void)
{
	uint64_t begin = mono();

	for (volatile unsigned i = 0; i < 10000000; i++)
		;
	CHECK(is_virtual ? mono() == begin : mono() > begin);
}

static const struct time_case cases[] = {
	{"all_go_on", all_go_on},
	{"agree", agree},
	{"cpu_clocks_are_real", cpu_clocks_are_real},
	{"errors", errors},
	{"spin_until", spin_until},
	{"raw_spin", raw_spin},
	{"raw_spin_interrupted", raw_spin_interrupted},
	{"never_goes_back", never_goes_back},
	{"computing_takes_no_time", computing_takes_no_time},
};

TIME_MAIN(cases)
