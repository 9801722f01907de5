// SPDX-License-Identifier: MIT
/* Proves, with many processes: no time passes in short ones, and two hundred can sleep at the same
 * time. */
#include <sys/mman.h>

#include "tests/lib/time_check.h"

#define STORM 500u
#define CROWD 200u
#define STEPS 3u

/* Computes for a while after its start, so that the simulation is not idle. */
static void compute(void *arg)
{
	uint64_t begin = *(uint64_t *)arg;

	for (volatile unsigned i = 0; i < 200000; i++)
		;
	CHECK(!is_virtual || mono() == begin);
}

/* A thread that sleeps all the time: its deadline must not come while a child runs. */
static void *sleep_long(void *arg)
{
	sleep_steps(*(double *)arg);
	return arg;
}

static void storm(void)
{
	double steps = 50;
	uint64_t begin = mono();
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, sleep_long, &steps));
	for (unsigned i = 0; i < STORM; i++)
		CHECK(!ended(start_process(compute, &begin)));
	CHECK(!is_virtual || mono() == begin);
	if (is_virtual) {
		CHECK(!pthread_join(thread, NULL));
		TOOK(begin, 50);
	}
}

static _Atomic unsigned *good_orphans;

/* The same with children of children, whose parent ends at once. */
static void compute_orphaned(void *arg)
{
	if (fork())
		return;
	compute(arg);
	*good_orphans += !failed;
	sleep_steps(1);
}

static void orphans(void)
{
	uint64_t begin = mono();

	good_orphans = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(good_orphans != MAP_FAILED);
	for (unsigned i = 0; i < 100; i++)
		CHECK(!ended(start_process(compute_orphaned, &begin)));
	sleep_steps(is_virtual ? 2 : 20);
	CHECK(*good_orphans == 100);
	if (is_virtual)
		TOOK(begin, 2);
}

/* Each process starts two children, down to the last ones, which sleep: 255 processes at a time. */
static void grow(unsigned depth)
{
	pid_t pids[2] = {0};

	for (unsigned i = 0; depth && i < 2; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (!pids[i]) {
			grow(depth - 1);
			_exit(failed);
		}
	}
	if (!depth)
		sleep_steps(1);
	for (unsigned i = 0; depth && i < 2; i++)
		CHECK(!ended(pids[i]));
}

static void tree(void)
{
	uint64_t begin = mono();

	fflush(stdout);
	grow(7);
	TOOK(begin, 1);
}

static void *compute_in_thread(void *arg)
{
	compute(arg);
	return NULL;
}

static void threads(void)
{
	uint64_t begin = mono();

	for (unsigned i = 0; i < STORM; i++) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, compute_in_thread, &begin));
		CHECK(!pthread_join(thread, NULL));
	}
	CHECK(!is_virtual || mono() == begin);
}

static void sleep_in_steps(void *arg)
{
	double step = 0.001 * (double)(1 + (uintptr_t)arg % 7);
	uint64_t begin = mono();

	for (unsigned i = 0; i < STEPS; i++)
		sleep_steps(step);
	TOOK(begin, STEPS * step - 1e-9);
	CHECK(!is_virtual || mono() - begin < (uint64_t)(STEPS * step * S_NS) + 1000);
}

static void sleepers(void)
{
	pid_t pids[CROWD];

	for (uintptr_t i = 0; i < CROWD; i++)
		pids[i] = start_process(sleep_in_steps, (void *)i);
	for (unsigned i = 0; i < CROWD; i++)
		CHECK(!ended(pids[i]));
}

static const struct time_case cases[] = {
	{"storm", storm},     {"orphans", orphans},   {"tree", tree},
	{"threads", threads}, {"sleepers", sleepers},
};

TIME_MAIN(cases)
