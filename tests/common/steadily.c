// SPDX-License-Identifier: MIT
/*
 * steadily COMMAND...: runs a test to which time matters, and once more if it fails while
 * the host had taken this machine's cores away, at most three times; the last counts,
 * whatever the host did. $TURN tells the command which turn it is. Exit code: the last
 * turn's.
 *
 * A thread for each core, above the real-time priorities of kfdsim and kfdschedd, sums up
 * by how much it woke late: no load of our own does that. (What /proc/stat says was stolen
 * does not tell: a core that sleeps often is 8 % stolen on a quiet host.) Without the right
 * to real-time priority nothing is known, and nothing run twice.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define TURNS 3
#define MS 1000000u
#define TICK_MS 5
#define LATE_MS 60u  /* for 50 ms the kernel itself keeps real-time threads off a core */
#define AWAY_MS 200u /* of one core in a turn, by such: what a test cannot be asked to bear */

static _Atomic uint64_t away_ns[CPU_SETSIZE];

static void *tick(void *arg)
{
	for (uint64_t last = clock_ns();;) {
		uint64_t now;

		usleep(TICK_MS * 1000);
		now = clock_ns();
		if (now - last > LATE_MS * MS)
			*(_Atomic uint64_t *)arg += now - last - TICK_MS * MS;
		last = now;
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
	ok = !pthread_create(&thread, &attr, tick, &away_ns[cpu]);
	pthread_attr_destroy(&attr);
	return ok;
}

static bool watch_all(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return false;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus) && !watch(cpu))
			return false;
	return true;
}

static unsigned long long worst_ms(void)
{
	uint64_t worst = 0;

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		worst = away_ns[cpu] > worst ? away_ns[cpu] : worst;
	return worst / MS;
}

static int run(char **command, int turn)
{
	char text[16];
	int status;
	pid_t pid;

	snprintf(text, sizeof(text), "%d", turn);
	setenv("TURN", text, 1);
	pid = fork();
	if (pid == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("steadily");
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	bool watched;
	int code = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: steadily COMMAND...\n");
		return 2;
	}
	watched = watch_all();
	for (int turn = 1; turn <= TURNS; turn++) {
		unsigned long long away = worst_ms();

		code = run(argv + 1, turn);
		if (!code)
			return 0;
		away = worst_ms() - away;
		fprintf(stderr, "steadily: turn %d failed (%d); a core was away for %llu ms%s\n",
			turn, code, away, watched ? "" : ", as far as can be seen here");
		if (!watched || away <= AWAY_MS)
			return code;
	}
	return code;
}
