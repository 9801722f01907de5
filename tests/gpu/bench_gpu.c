// SPDX-License-Identifier: MIT
/* How fast the model is: cohorts and model time per second of this machine's
 * time, on GPUs of the size of an MI210 and of an MI300X. Not a test. */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "sim/gpu/gpu.h"

struct load {
	const char *name;
	uint32_t queues;
	uint32_t wgs, units;	  /* of every dispatch */
	uint64_t wg_ns, add_ns;	  /* queue q's workgroups take wg_ns + q * add_ns */
	uint32_t dispatches;	  /* a queue */
	uint64_t bounce_every_ns; /* 0: never */
};

static const struct load loads[] = {
	{"training alone: 1500 dispatches a step", 1, 4000, 4, 9000, 0, 150000, 0},
	{"as kfdreplay: a CU a workgroup", 1, 304, 32, 9000, 0, 150000, 0},
	{"two of these, ending apart", 2, 304, 32, 9000, 1373, 50000, 0},
	{"two equals", 2, 4000, 4, 9000, 0, 50000, 0},
	{"two that never end together", 2, 4000, 4, 9000, 1373, 20000, 0},
	{"four that never end together", 4, 4000, 4, 9000, 1373, 4000, 0},
	{"tiny dispatches", 4, 1, 1, 2000, 7, 200000, 0},
	{"two, a bounce every ms", 2, 4000, 4, 9000, 1373, 20000, 1000000},
};

static const struct gpu_config common = {
	.units_per_cu = 32,
	.packet_ns = 500,
	.unmap_ns = 100000,
	.map_ns = 100000,
	.save_bytes_unit = 16384,
	.save_bytes_us = 1000000,
	.restore_bytes_us = 1000000,
	.sdma_engines = 2,
};

static const struct {
	uint32_t xccs, cus;
} shapes[] = {{1, 104}, {8, 304}};

static int play(const struct load *load, uint32_t xccs, uint32_t cus)
{
	struct gpu_config config = common;

	config.xccs = xccs;
	config.cus = cus;
	struct gpu *gpu = gpu_new(&config);
	struct gpu_change changes[8];
	uint64_t cohorts = 0, events = 0, bounce_at = load->bounce_every_ns;
	uint32_t left[8], going = load->queues;
	struct gpu_event event;

	if (!gpu)
		return 1;
	uint64_t started = clock_ns();

	for (uint32_t q = 0; q < load->queues; q++) {
		changes[q] = (struct gpu_change){
			.queue = (uint32_t)gpu_queue_add(
				gpu,
				&(struct gpu_queue_config){.client = q, .engine = GPU_ENGINE_ANY}),
			.map = true};
		left[q] = load->dispatches;
	}
	if (gpu_bounce(gpu, 0, changes, load->queues))
		return 1;
	while (going > 0) {
		/* As a process does that keeps a few dispatches ahead. */
		for (uint32_t q = 0; q < load->queues; q++)
			while (left[q] > 0 && gpu_queue_depth(gpu, changes[q].queue) < 16) {
				struct gpu_packet packet = {
					.kind = GPU_PACKET_DISPATCH,
					.barrier = true,
					.trace = true,
					.wgs = load->wgs,
					.units = load->units,
					.wg_ns = load->wg_ns + q * load->add_ns,
					.tag = left[q],
				};

				if (gpu_submit(gpu, changes[q].queue, &packet))
					return 1;
				left[q]--;
			}
		if (load->bounce_every_ns && gpu_now(gpu) >= bounce_at) {
			if (gpu_bounce(gpu, 0, NULL, 0))
				return 1;
			bounce_at = gpu_now(gpu) + load->bounce_every_ns;
		}
		do {
			if (!gpu_step(gpu, gpu_next(gpu), &event))
				continue;
			events++;
			cohorts += event.type == GPU_EVENT_WORKGROUPS;
			going -= event.type == GPU_EVENT_RETIRED && event.tag == 1;
		} while (event.type != GPU_EVENT_RETIRED);
	}
	double seconds = (double)(clock_ns() - started) / 1e9;

	printf("%u x %-3u CUs: %-40s %6.2f M cohorts/s, %6.2f M events/s, %8.3f model s in %.3f "
	       "s\n",
	       xccs, cus / xccs, load->name, (double)cohorts / seconds / 1e6,
	       (double)events / seconds / 1e6, (double)gpu_now(gpu) / 1e9, seconds);
	gpu_free(gpu);
	return 0;
}

int main(void)
{
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
		for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
			if (play(&loads[i], shapes[s].xccs, shapes[s].cus)) {
				fprintf(stderr, "bench_gpu: no memory\n");
				return 1;
			}
	return 0;
}
