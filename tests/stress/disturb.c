// SPDX-License-Identifier: MIT
/*
 * disturb COMMAND...: runs a command while each core is taken away again and again, as a busy host
 * does. On each core a thread with a real-time priority above those of kfdsim, kfdschedd and
 * host_stall.h burns CPU time for 0 to 200 ms at random and then pauses for 0 to 400 ms, that is
 * for a third of the time.
 *
 * DISTURB_SEED repeats a sequence. Without it the seed is drawn at random. The seed is always
 * printed. The disturbance ends with the command, or after an hour. The exit code is the command's;
 * without the right to real-time priorities the command is not run, and the exit code is 1.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define MS UINT64_C(1000000)
#define BURN_MS 200
#define PAUSE_MS 400
#define LIMIT_MS (3600 * UINT64_C(1000))
#define PRIORITY 50

static struct core {
	unsigned seed;
	_Atomic uint64_t burnt_ns; /* total; 0: no thread */
} cores[CPU_SETSIZE];

static void burn_until(uint64_t end)
{
	while (clock_ns() < end)
		;
}

static void *remove_one(void *arg)
{
	struct core *core = arg;
	uint64_t now = clock_ns(), limit = now + LIMIT_MS * MS;

	while (now < limit) {
		uint64_t burn = (unsigned)rand_r(&core->seed) % (BURN_MS * 1000) * UINT64_C(1000);
		uint64_t pause = (unsigned)rand_r(&core->seed) % (PAUSE_MS * 1000) * UINT64_C(1000);
		struct timespec rest = {.tv_nsec = (long)pause};

		burn_until(now + burn);
		core->burnt_ns += burn;
		nanosleep(&rest, NULL);
		now = clock_ns();
	}
	return NULL;
}

static int disturb(size_t cpu, unsigned seed)
{
	const struct sched_param urgent = {.sched_priority = PRIORITY};
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t one;
	int error;

	cores[cpu].seed = seed + (unsigned)cpu * 7919u;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &urgent);
	pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	error = pthread_create(&thread, &attr, remove_one, &cores[cpu]);
	pthread_attr_destroy(&attr);
	return error;
}

static unsigned choose_seed(void)
{
	const char *text = getenv("DISTURB_SEED");
	unsigned seed;

	if (text && *text)
		return (unsigned)strtoul(text, NULL, 10);
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (unsigned)clock_ns();
	return seed % 1000000;
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	return pid;
}

static int disturb_all(unsigned seed)
{
	cpu_set_t cpus;
	int error;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return errno;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		error = disturb(cpu, seed);
		if (error)
			return error;
	}
	return 0;
}

static void report(void)
{
	fprintf(stderr, "disturb: took away, in ms of each core:");
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (cores[cpu].burnt_ns)
			fprintf(stderr, " %llu", (unsigned long long)(cores[cpu].burnt_ns / MS));
	fprintf(stderr, "\n");
}

int main(int argc, char **argv)
{
	unsigned seed = choose_seed();
	int status, error;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: disturb COMMAND...\n");
		return 2;
	}
	fprintf(stderr, "disturb: seed %u (DISTURB_SEED=%u repeats it)\n", seed, seed);
	error = disturb_all(seed);
	if (error) {
		fprintf(stderr, "disturb: no real-time thread on each core: %s; run it as root\n",
			strerror(error));
		return 1;
	}
	pid = start(argv + 1);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("disturb");
		return 1;
	}
	report();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
