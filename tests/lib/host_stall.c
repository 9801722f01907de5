// SPDX-License-Identifier: MIT
#include "tests/lib/host_stall.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "common/clock.h"

#define MS 1000000u
#define TICK_MS 5
/* Above 50 ms, because the kernel's real-time throttling alone can keep such a thread off its core
 * for that long. */
#define LATE_MS 60u

/* Stalls of one core. tick() adds to sum_ns before it stores last_ns. A reader between the two
 * stores counts a stall twice; with the opposite order it would miss the stall. */
static struct core {
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t last_ns; /* ns, the thread's last wake; 0: not watched */
} cores[CPU_SETSIZE];

/* Returns the length in ns of a stall between two wakes; 0 if the second one was not late. */
static uint64_t late(uint64_t last, uint64_t now)
{
	return now > last + LATE_MS * MS ? now - last - TICK_MS * MS : 0;
}

static void *tick(void *arg)
{
	struct core *core = arg;

	for (;;) {
		uint64_t now;

		usleep(TICK_MS * 1000);
		now = clock_ns();
		core->sum_ns += late(core->last_ns, now);
		core->last_ns = now;
	}
	return NULL;
}

static bool watch(size_t cpu)
{
	const struct sched_param urgent = {.sched_priority = 10};
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t one;
	bool ok;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &urgent);
	pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	cores[cpu].last_ns = clock_ns();
	ok = !pthread_create(&thread, &attr, tick, &cores[cpu]);
	pthread_attr_destroy(&attr);
	if (!ok)
		cores[cpu].last_ns = 0;
	return ok;
}

bool host_stall_watch(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return false;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus) && !watch(cpu))
			return false;
	return true;
}

/* Returns the stalled time of a core in ns, including a stall that has not ended yet. */
static uint64_t stolen_ns(size_t cpu)
{
	uint64_t last = cores[cpu].last_ns, sum = cores[cpu].sum_ns;

	return last ? sum + late(last, clock_ns()) : 0;
}

uint64_t host_stall_worst_ns(void)
{
	uint64_t worst = 0;

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		worst = stolen_ns(cpu) > worst ? stolen_ns(cpu) : worst;
	return worst;
}

uint64_t host_stall_sum_ns(void)
{
	uint64_t sum = 0;

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		sum += stolen_ns(cpu);
	return sum;
}
