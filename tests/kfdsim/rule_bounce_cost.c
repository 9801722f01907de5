// SPDX-License-Identifier: MIT
/* Every change of a queue stops all queues of the node for the length of a
 * bounce, those of other processes too; the ioctl returns at half of it, when the
 * old queues are off. Run with unknown_kernel_us = 50000, bounce_us = 200000. */
#include <time.h>

#include "conform/lab.h"

static unsigned since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned)((now.tv_sec - start->tv_sec) * 1000 +
			  (now.tv_nsec - start->tv_nsec) / 1000000);
}

static void neighbour(int from, int to)
{
	struct raw_queue queue;
	struct timespec start;
	struct gpu_file gpu;
	unsigned ms;

	gpu_open(&gpu);
	tell(to);
	hear(from);
	clock_gettime(CLOCK_MONOTONIC, &start);
	queue_new(&gpu, &queue);
	ms = since(&start);
	CHECK(ms >= 99 && ms < 190);
	tell(to);
	hear(from);
}

int main(void)
{
	struct raw_queue queue;
	struct signal *signal;
	struct timespec start;
	struct gpu_file gpu;
	struct child child;
	unsigned ms;

	gpu_open(&gpu);
	signal = signals_new(&gpu);
	queue_new(&gpu, &queue);
	child_start(&child, neighbour);
	hear(child.from);
	sleep_ms(300); /* the bounce of the own queue is over */

	signal->value = 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	queue_dispatch(&queue, 1, signal);
	queue_ring(&queue);
	CHECK(comes(&signal->value, 0, 1000));
	ms = since(&start);
	CHECK(ms >= 49 && ms < 150);

	signal->value = 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	queue_dispatch(&queue, 1, signal);
	queue_ring(&queue);
	sleep_ms(10);
	tell(child.to);
	CHECK(comes(&signal->value, 0, 1000));
	ms = since(&start);
	CHECK(ms >= 248 && ms < 400);
	hear(child.from);

	/* One that changes nothing costs the same. */
	clock_gettime(CLOCK_MONOTONIC, &start);
	CHECK_IS(queue_update(&gpu, &queue, 100), 0);
	CHECK(since(&start) >= 99);
	tell(child.to);
	CHECK_IS(child_end(&child), 0);
	return 0;
}
