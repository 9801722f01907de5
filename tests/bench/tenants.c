// SPDX-License-Identifier: MIT
/*
 * Runs PROCESSES processes with QUEUES quiet AQL queues each. In each of ROUNDS rounds it prints
 * "ready" on stdout when all queues exist, reads one line from stdin, ends the processes, prints
 * "gone", and reads another line.
 *
 *     bench_tenants PROCESSES QUEUES ROUNDS      one line on stdin = go on
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

static unsigned n_queues;

static void tenant(int from, int to)
{
	struct kfdabi_create_queue args;
	struct raw_queue queue;
	struct gpu_file gpu;

	gpu_open(&gpu);
	/* All queues use the same buffers. They stay quiet, and separate save areas would take 64
	 * times 8 times 64 MB. */
	queue_args(&gpu, &queue, &args);
	for (unsigned i = 0; i < n_queues; i++)
		CHECK_IS(queue_create(&gpu, &queue, &args), 0);
	notify(to);
	hear(from);
}

int main(int argc, char **argv)
{
	unsigned processes, rounds;
	struct child *children;
	char line[16];

	if (argc != 4)
		return 2;
	processes = (unsigned)atoi(argv[1]);
	n_queues = (unsigned)atoi(argv[2]);
	rounds = (unsigned)atoi(argv[3]);
	children = calloc(processes, sizeof *children);
	CHECK(children);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < processes; i++) {
			child_begin(&children[i], tenant);
			hear(children[i].from);
		}
		puts("ready");
		CHECK(fgets(line, sizeof line, stdin));
		for (unsigned i = 0; i < processes; i++) {
			notify(children[i].to);
			CHECK_IS(child_end(&children[i]), 0);
			close(children[i].from);
		}
		sleep_ms(200); /* the driver notices the end of a process at its next poll */
		puts("gone");
		CHECK(fgets(line, sizeof line, stdin));
	}
	free(children);
	return 0;
}
