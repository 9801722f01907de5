// SPDX-License-Identifier: MIT
/*
 * Measures the speed of the GPU model (sim/gpu): how many seconds of GPU time it computes in one
 * second of a core, for GPUs of the size of an MI210 and of an MI300X. The worst case are queues
 * that saturate the GPU and whose workgroups end at different times.
 *
 *     bench_model ONLINE.csv OFFLINE.csv      the traces of the last figures
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "sim/gpu/gpu.h"
#include "tests/bench/report.h"
#include "tools/kfdreplay/trace.h"

#define QUEUES_MAX 4u
#define AHEAD 16u /* dispatches in a queue, as of a process that keeps its queue full */
#define MODEL_NS 50000000u

struct load {
	const char *name;
	uint32_t queues;
	uint32_t wgs, wave_slots; /* workgroups and wave slots of each dispatch */
	uint64_t wg_ns, add_ns;	  /* workgroups of queue q take wg_ns + q * add_ns */
	bool updates;		  /* one runlist update ("bounce") per ms */
	double least;		  /* bound; 0: none */
};

static const struct load loads[] = {
	{"one queue, 9 us workgroups", 1, 4000, 4, 9000, 0, false, 0},
	{"two queues out of step", 2, 4000, 4, 9000, 1373, false, 0.5},
	{"the same, a bounce every ms", 2, 4000, 4, 9000, 1373, true, 0},
	{"the same, 1 us workgroups", 2, 40000, 4, 1000, 137, false, 0},
	{"four queues out of step", 4, 4000, 4, 9000, 1373, false, 0},
};

static const struct shape {
	const char *name;
	uint32_t xccs, cus;
	bool bounded;
} shapes[] = {{"MI210", 1, 104, true}, {"MI300X", 8, 304, false}};

/* The packets that a queue's process submits: equal dispatches, or a trace again and again. */
struct source {
	uint32_t queue;
	struct gpu_packet packet;
	const struct plan *plan; /* NULL: submit `packet` each time */
	size_t at;
};

static struct gpu *gpu_of(const struct shape *shape)
{
	const struct gpu_config config = {
		.xccs = shape->xccs,
		.cus = shape->cus,
		.wave_slots_per_cu = 32,
		.packet_ns = 500,
		.unmap_ns = 100000,
		.map_ns = 100000,
		.save_bytes_unit = 16384,
		.save_bytes_us = 1000000,
		.restore_bytes_us = 1000000,
		.sdma_engines = 2,
	};
	struct gpu *gpu = gpu_new(&config);

	if (!gpu)
		exit(1);
	return gpu;
}

/* Returns the next dispatch of the source. Copies of a trace are skipped. */
static const struct gpu_packet *next_packet(struct source *source)
{
	const struct plan_op *op;

	if (!source->plan)
		return &source->packet;
	do {
		op = &source->plan->ops[source->at];
		source->at = (source->at + 1) % source->plan->op_count;
	} while (op->kind != PLAN_SPIN);
	source->packet.wgs = op->workgroups;
	source->packet.wg_ns = op->ticks * PLAN_TICK_NS;
	return &source->packet;
}

static void feed(struct gpu *gpu, struct source *source)
{
	while (gpu_queue_depth(gpu, source->queue) < AHEAD)
		if (gpu_submit(gpu, source->queue, next_packet(source)))
			exit(1);
}

/* Returns the seconds of GPU time computed in one second of a core. */
static double play(struct gpu *gpu, struct source *sources, uint32_t n, bool updates)
{
	uint64_t start = clock_of(CLOCK_PROCESS_CPUTIME_ID), next_update = 0;
	struct gpu_change changes[QUEUES_MAX];
	struct gpu_event event;

	for (uint32_t i = 0; i < n; i++) {
		const struct gpu_queue_config config = {.client = i, .engine = GPU_ENGINE_ANY};

		sources[i].queue = (uint32_t)gpu_queue_add(gpu, &config);
		changes[i] = (struct gpu_change){.queue = sources[i].queue, .map = true};
	}
	while (gpu_now(gpu) < MODEL_NS) {
		if (gpu_now(gpu) >= next_update) {
			if (gpu_update_runlist(gpu, 0, changes, n))
				exit(1);
			next_update = updates ? gpu_now(gpu) + 1000000 : UINT64_MAX;
		}
		for (uint32_t i = 0; i < n; i++)
			feed(gpu, &sources[i]);
		while (gpu_step(gpu, MODEL_NS, &event) && event.type != GPU_EVENT_RETIRED)
			;
	}
	gpu_free(gpu);
	return MODEL_NS / (double)(clock_of(CLOCK_PROCESS_CPUTIME_ID) - start);
}

static void figure(struct bench *bench, const struct shape *shape, const char *name, double value,
		   double least)
{
	bool bounded = shape->bounded && least > 0;
	char text[128];

	snprintf(text, sizeof text, "%s: %s", shape->name, name);
	bench_figure(bench, text, value, "GPU s / core s", bounded ? "at_least" : NULL, least);
}

static double dispatches(const struct shape *shape, const struct load *load)
{
	struct source sources[QUEUES_MAX] = {0};

	for (uint32_t q = 0; q < load->queues; q++)
		sources[q].packet = (struct gpu_packet){
			.kind = GPU_PACKET_DISPATCH,
			.barrier = true,
			.wgs = load->wgs,
			.wave_slots = load->wave_slots,
			.wg_ns = load->wg_ns + q * load->add_ns,
		};
	return play(gpu_of(shape), sources, load->queues, load->updates);
}

static double traces(const struct shape *shape, char **paths)
{
	struct source sources[2] = {0};
	struct plan plans[2];
	char error[256];
	double value;

	for (int i = 0; i < 2; i++) {
		struct trace trace;

		if (trace_read(paths[i], &trace, error, sizeof error) ||
		    plan_make(&trace, shape->cus, &plans[i])) {
			fprintf(stderr, "bench_model: %s cannot be read\n", paths[i]);
			exit(1);
		}
		trace_free(&trace);
		sources[i].plan = &plans[i];
		sources[i].packet = (struct gpu_packet){
			.kind = GPU_PACKET_DISPATCH, .barrier = true, .wave_slots = 32};
	}
	value = play(gpu_of(shape), sources, 2, false);
	plan_free(&plans[0]);
	plan_free(&plans[1]);
	return value;
}

int main(int argc, char **argv)
{
	struct bench bench;

	if (argc != 3)
		return 2;
	bench_begin(&bench, "model", "The model of the GPU");
	for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
		for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
			figure(&bench, &shapes[s], loads[i].name, dispatches(&shapes[s], &loads[i]),
			       loads[i].least);
		figure(&bench, &shapes[s], "an online trace beside training",
		       traces(&shapes[s], argv + 1), 0.5);
	}
	return bench_end(&bench);
}
