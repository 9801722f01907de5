// SPDX-License-Identifier: MIT
/* Proves: every change of a queue stops all queues of the node, including those of other processes,
 * for the duration of a runlist update ("bounce"). The ioctl returns after half of it, when the old
 * queues are off the GPU. Durations of kernels are taken from their time stamps, which are the
 * GPU's own time.
 *
 * Run with unknown_kernel_us = 50000, update_us = 200000. */
#include "common/clock.h"
#include "tools/kfdconform/harness/harness.h"

#define MS 1000000
#define TURNS 20

static void neighbour(int from, int to)
{
	struct raw_queue queue;
	struct gpu_file gpu;

	gpu_open(&gpu);
	notify(to);
	while (hears(from, 60000)) {
		uint64_t start = clock_ns();

		queue_new(&gpu, &queue);
		CHECK(clock_ns() - start >= 99 * MS);
		notify(to);
		if (!hears(from, 60000))
			return;
		CHECK_IS(queue_destroy(&gpu, queue.id), 0);
		notify(to);
	}
}

/* Returns ns; the time stamps count at 100 MHz. */
static int64_t length(const struct signal *signal)
{
	return (int64_t)(signal->end_ts - signal->start_ts) * 10;
}

static bool about(int64_t ns, int64_t wanted)
{
	return ns >= wanted - MS / 10 && ns < wanted + MS / 10;
}

int main(void)
{
	struct raw_queue queue;
	struct signal *signal;
	struct gpu_file gpu;
	struct child child;
	long long cost;
	uint64_t start;
	int round = 0;

	gpu_open(&gpu);
	signal = signals_new(&gpu);
	/* There is no runlist on the GPU yet, so the call does not wait. */
	start = clock_ns();
	queue_new(&gpu, &queue);
	CHECK(clock_ns() - start < 50 * MS);
	child_begin(&child, neighbour);
	hear(child.from);
	sleep_ms(300); /* until the update for its own queue is over */

	signal->value = 1;
	queue_dispatch(&queue, 1, signal);
	queue_ring(&queue);
	CHECK(comes(&signal->value, 0, 5000));
	CHECK(about(length(signal), 50 * MS));

	/* Tried again if the machine stalled and the kernel was over before the neighbour's
	 * change. */
	for (;;) {
		signal->value = 1;
		queue_dispatch(&queue, 1, signal);
		queue_ring(&queue);
		sleep_ms(10);
		notify(child.to);
		CHECK(comes(&signal->value, 0, 5000));
		hear(child.from);
		if (!about(length(signal), 50 * MS) || ++round == TURNS)
			break;
		fprintf(stderr, "tried again: the kernel was over before the bounce\n");
		notify(child.to);
		hear(child.from);
		sleep_ms(300);
	}
	fprintf(stderr, "with a bounce: %lld ns\n", (long long)length(signal));
	CHECK(about(length(signal), 250 * MS));

	/* An update that changes nothing costs the same. */
	start = clock_ns();
	CHECK_IS(queue_update(&gpu, &queue, 100), 0);
	CHECK(clock_ns() - start >= 99 * MS);
	CHECK_IS(child_end(&child), 0);

	/* Without its last queue the runlist is empty, and is not mapped again: half of the
	 * cost. */
	cost = harness_settled("bounce_ns");
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	CHECK_IS(harness_settled("bounce_ns") - cost, 100 * MS);
	return 0;
}
