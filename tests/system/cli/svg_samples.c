// SPDX-License-Identifier: MIT
/* Writes one SVG for each kind of colocate run into the named directory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/colocate/result.h"

static struct colocation run;
/* busy times, a quarter of the 4 s */
static struct request_time times[] = {{1e6, 1.5e6}, {3e6, 3.5e6}};

static struct online_stats latencies(double p50, double p99, bool keeps_up)
{
	return (struct online_stats){
		.p50_us = p50,
		.p90_us = (p50 + p99) / 2,
		.p99_us = p99,
		.p999_us = p99 * 1.2,
		.requests = 877,
		.gpu_busy_ratio = 0.2,
		.keeps_up = keeps_up,
		.gpu_us = 800,
	};
}

static void usual(void)
{
	run = (struct colocation){
		.online = "online_resnet50_b1",
		.offline = "offline_gpt2m_train_8x1024",
		.online_clients = {1, {"online_resnet50_b1"}, {NULL}},
		.offline_clients = {1, {"offline_gpt2m_train_8x1024"}, {NULL}},
		.load = 0.2,
		.rate_per_s = NAN,
		.seconds = 40,
		.simulated = true,
		.time_scale = 0.1,
		.profile = "mi210",
		.update_us = 200,
		.seeds = 1,
		.requests = {{{times, 2}}},
	};
	hist_add(&run.doorbell, 20000);
	run.arms[ARM_ALONE] = (struct arm_stats){
		.ran = true, .online = latencies(909, 2475, true), .offline = {10.53, 0.98, 0}};
	run.arms[ARM_SHARED] = (struct arm_stats){
		.ran = true, .online = latencies(9.1e6, 18e6, false), .offline = {10.02, 0.95, 0}};
	run.arms[ARM_TRAP] = (struct arm_stats){
		.ran = true, .online = latencies(1020, 3060, true), .offline = {7.98, 0.74, 0}};
	for (unsigned i = 0; i < ARM_COUNT; i++)
		run.arms[i].time =
			(struct result_time){.us = {990, 0, 0, 0, 0, 0, 0, 10}, .all_us = 1000};
	run.arms[ARM_TRAP].time =
		(struct result_time){.us = {550, 220, 60, 30, 49, 20, 61, 10}, .all_us = 1000};
	hist_add(&run.arms[ARM_TRAP].save, 60000);
	hist_add(&run.arms[ARM_TRAP].save, 60000);
	hist_add(&run.arms[ARM_TRAP].save, 70000);
	hist_add(&run.arms[ARM_TRAP].restore, 50000);
	hist_add(&run.arms[ARM_TRAP].restore, 50000);
	hist_add(&run.arms[ARM_TRAP].restore, 70000);
}

static void save(const char *directory, const char *name)
{
	struct result_verdict verdict;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.svg", directory, name);
	FILE *out = fopen(path, "w");

	if (!out)
		exit(1);
	result_evaluate(&run, &verdict);
	colocate_svg(&run, &verdict, out);
	if (fclose(out))
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	usual();
	save(argv[1], "usual");

	run.seeds = 5;
	run.is_virtual = true;
	for (int arm = 0; arm < ARM_COUNT; arm++) {
		double p99 = run.arms[arm].online.p99_us, steps = run.arms[arm].offline.steps;

		run.spread[arm].p99_us = (struct value_range){p99 * 0.9, p99 * 1.2};
		run.spread[arm].steps = (struct value_range){steps * 0.9, steps * 1.1};
	}
	save(argv[1], "seeds");
	usual();

	for (int i = 0; i < 9; i++)
		hist_add(&run.doorbell, 90000000);
	save(argv[1], "invalid");

	/* Sharing is slow but keeps up: the axis has two decades more. */
	usual();
	run.arms[ARM_SHARED].online = latencies(41000, 290000, true);
	save(argv[1], "slow");

	usual();
	run.simulated = false;
	run.time_scale = 1;
	run.update_us = NAN;
	run.load = NAN;
	run.rate_per_s = 220;
	for (unsigned i = 0; i < ARM_COUNT; i++) {
		run.arms[i].time = time_unknown();
		run.arms[i].time.us[TIME_HOLD_OVER] = 10;
		run.arms[i].time.all_us = 1000;
	}
	save(argv[1], "hardware");

	usual();
	run.arms[ARM_ALONE].ran = run.arms[ARM_SHARED].ran = false;
	save(argv[1], "one_arm");

	/* With several clients only the table shows what each did. */
	usual();
	run.online = "online_resnet50_b1 + online_llama1b_decode_b1";
	run.offline = "2 x offline_gpt2m_train_8x1024 (a) + 2 x offline_gemm4000_f32 (b)";
	run.online_clients.count = 2;
	run.offline_clients.count = 4;
	save(argv[1], "several");

	usual();
	for (enum arm i = ARM_SELF; i < ARM_COUNT; i++) {
		run.arms[i] = run.arms[ARM_TRAP];
		time_forget(&run.arms[i].time, arm_kinds[i].unknown);
	}
	save(argv[1], "levels");

	usual();
	run.online = "a && b <script>";
	run.offline = "c";
	/* Nothing was completed. */
	for (unsigned i = 0; i < ARM_COUNT; i++) {
		run.arms[i].online = latencies(NAN, NAN, i != ARM_SHARED);
		run.arms[i].offline.steps = 0;
	}
	save(argv[1], "names");
	return 0;
}
