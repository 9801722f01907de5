// SPDX-License-Identifier: MIT
/*
 * Does a queue move? Looks at the read pointer of a queue in another process.
 *
 *   watch_queue PID RPTR_ADDRESS STILL_MS MOVES_MS [VICTIM SIGNAL]
 *
 * When it has stood still for STILL_MS, which is longer than its kernels and
 * so says that it is suspended, VICTIM gets SIGNAL, and the queue must move
 * within MOVES_MS. Prints after how many milliseconds it did. Exit code 1: it
 * did not stand still in ten seconds, or did not move in time.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include "common/clock.h"

static pid_t pid;
static void *address;

static uint64_t value(void)
{
	uint64_t v = 0;
	struct iovec here = {.iov_base = &v, .iov_len = sizeof(v)};
	struct iovec there = {.iov_base = address, .iov_len = sizeof(v)};

	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof(v)) {
		perror("watch_queue: cannot read the queue");
		exit(1);
	}
	return v;
}

/* Milliseconds until it differs from `from`; -1: not within ms. */
static double moves_within(uint64_t from, double ms)
{
	const struct timespec pause = {.tv_nsec = 200000};
	uint64_t start = clock_ns();

	for (;;) {
		double passed = (double)(clock_ns() - start) / 1e6;

		if (value() != from)
			return passed;
		if (passed > ms)
			return -1;
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	uint64_t from, end;
	double passed;

	if (argc != 5 && argc != 7) {
		fprintf(stderr, "usage: watch_queue PID RPTR_ADDRESS STILL_MS MOVES_MS "
				"[VICTIM SIGNAL]\n");
		return 2;
	}
	pid = atoi(argv[1]);
	address = (void *)(uintptr_t)strtoull(argv[2], NULL, 0);
	end = clock_ns() + 10000000000u;
	do {
		from = value();
		if (clock_ns() > end) {
			fprintf(stderr, "watch_queue: it does not stand still\n");
			return 1;
		}
	} while (moves_within(from, atof(argv[3])) >= 0);
	if (argc == 7 && kill(atoi(argv[5]), atoi(argv[6])) < 0) {
		perror("watch_queue: kill");
		return 1;
	}
	passed = moves_within(from, atof(argv[4]));
	if (passed < 0) {
		fprintf(stderr, "watch_queue: it did not move within %s ms\n", argv[4]);
		return 1;
	}
	printf("%.1f\n", passed);
	return 0;
}
