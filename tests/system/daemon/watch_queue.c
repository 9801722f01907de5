// SPDX-License-Identifier: MIT
/*
 * Checks whether a queue makes progress, by the read pointer of a queue in another process.
 *
 *   watch_queue PID RPTR_ADDRESS STILL_MS MOVES_MS [VICTIM SIGNAL]
 *
 * Waits until the pointer has not moved for STILL_MS, which is longer than the queue's kernels and
 * so shows that the queue is suspended. Then sends SIGNAL to VICTIM, and the pointer must move
 * within MOVES_MS. Prints the milliseconds until it moved. Exit code 1 if the pointer did not stand
 * still in ten seconds, or did not move in time.
 *
 * Time during which the host had taken a core away (host_stall.h) is added to both limits.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/host_stall.h"

/* /proc/PID/mem, because the pointer may be in GTT, which process_vm_readv refuses */
static int memory;
static off_t address;

static uint64_t value(void)
{
	uint64_t v = 0;

	if (pread(memory, &v, sizeof(v), address) != sizeof(v)) {
		perror("watch_queue: cannot read the queue");
		exit(1);
	}
	return v;
}

/* Returns the ms until the value differs from `from`, or -1 if it did not within ms of time that
 * the machine had cores. */
static double reads_within(uint64_t from, double ms)
{
	const struct timespec pause = {.tv_nsec = 200000};
	double stolen_ms = (double)host_stall_sum_ns();
	uint64_t start = clock_ns();

	for (;;) {
		double passed = (double)(clock_ns() - start) / 1e6;

		if (value() != from)
			return passed;
		if (passed > ms && passed > ms + ((double)host_stall_sum_ns() - stolen_ms) / 1e6)
			return -1;
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	uint64_t from, end;
	double passed;
	char path[64];

	if (argc != 5 && argc != 7) {
		fprintf(stderr, "usage: watch_queue PID RPTR_ADDRESS STILL_MS MOVES_MS "
				"[VICTIM SIGNAL]\n");
		return 2;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", atoi(argv[1]));
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0) {
		perror("watch_queue: cannot open the process's memory");
		return 1;
	}
	address = (off_t)strtoull(argv[2], NULL, 0);
	host_stall_watch();
	end = clock_ns() + 10000000000u;
	do {
		from = value();
		if (clock_ns() > end) {
			fprintf(stderr, "watch_queue: it does not stand still\n");
			return 1;
		}
	} while (reads_within(from, atof(argv[3])) >= 0);
	if (argc == 7 && kill(atoi(argv[5]), atoi(argv[6])) < 0) {
		perror("watch_queue: kill");
		return 1;
	}
	passed = reads_within(from, atof(argv[4]));
	if (passed < 0) {
		fprintf(stderr, "watch_queue: it did not move within %s ms\n", argv[4]);
		return 1;
	}
	printf("%.1f\n", passed);
	return 0;
}
