// SPDX-License-Identifier: MIT
/*
 * Measures what a suspend or resume costs the daemon with 10, 100 and 1,000 targets that have a
 * debug session. The executor process and the worker's side are the daemon's; the debug sessions
 * are played (tests/lib/executor_play.h), so that no time is the driver's.
 *
 *   all    all targets are suspended at once, then all are resumed
 *   one    one of them is suspended and resumed, while the others have nothing to do
 *   stop   one of them stops for a signal: how many targets are checked
 *
 * Times are CPU times of the worker's side and of the executor process, for one action.
 *
 *     bench_executors
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/wait.h"
#include "tests/bench/report.h"
#include "tests/bench/spent.h"
#include "tests/lib/executor_play.h"

#define ACTIONS 4000u /* of a measurement */
#define TURNS 5
#define GROWTH 3
#define SIGNALS 50u
#define SETTLE_NS 200000000u

static double cpu_ns(void)
{
	return spent_cpu_ns(getpid()) + spent_cpu_ns(play_process());
}

/* Returns the CPU time of an action in us, with `at_once` targets in flight. */
static double action_us(uint32_t at_once)
{
	uint32_t rounds = ACTIONS / at_once / 2;
	double before = cpu_ns();

	for (uint32_t i = 0; i < rounds; i++) {
		play_act(at_once, EXECUTOR_SUSPEND);
		play_act(at_once, EXECUTOR_RESUME);
	}
	return (cpu_ns() - before) / 1e3 / (2.0 * rounds * at_once);
}

/* Returns the number of targets that are checked for one signal. */
static double checks(uint32_t targets)
{
	uint64_t before;

	sleep_ns(SETTLE_NS);
	before = play_checks();
	for (uint32_t i = 0; i < SIGNALS; i++) {
		uint32_t target = i % targets;

		play_stop(target);
		play_signal(target);
		for (int tries = 0; tries < 1000 && !play_is_served(target); tries++)
			sleep_ns(1000000);
		sleep_ns(10000000); /* until the check of all, if one is due */
	}
	return (double)(play_checks() - before) / SIGNALS;
}

struct cost {
	double all[TURNS], one[TURNS], checks;
};

static struct cost measure(struct bench *bench, uint32_t targets)
{
	struct cost cost;
	char name[96];

	play_begin(targets);
	action_us(targets); /* warms up */
	for (int i = 0; i < TURNS; i++) {
		cost.all[i] = action_us(targets);
		cost.one[i] = action_us(1);
	}
	cost.checks = checks(targets);
	play_end();
	snprintf(name, sizeof(name), "CPU time of a suspend or resume, %u in flight", targets);
	bench_figure(bench, name, bench_median(cost.all, TURNS), "us", NULL, 0);
	snprintf(name, sizeof(name), "... of one among %u", targets);
	bench_figure(bench, name, bench_median(cost.one, TURNS), "us", NULL, 0);
	return cost;
}

int main(void)
{
	struct cost few, many;
	struct bench bench;

	bench_begin(&bench, "executors", "Executors at work");
	few = measure(&bench, 10);
	measure(&bench, 100);
	many = measure(&bench, PLAY_TARGETS);
	/* measure() has sorted the turns, so the middle one is the median. */
	bench_figure(&bench, "all in flight: the growth from 10 targets to 1,000",
		     many.all[TURNS / 2] / few.all[TURNS / 2], "x", "at_most", GROWTH);
	bench_figure(&bench, "one in flight: the growth from 10 targets to 1,000",
		     many.one[TURNS / 2] / few.one[TURNS / 2], "x", "at_most", GROWTH);
	bench_figure(&bench, "targets checked for a signal of one, of 1,000", many.checks, "",
		     "at_most", 2);
	bench_series(&bench, "10 targets", "us", few.all, TURNS);
	bench_series(&bench, "1,000 targets", "us", many.all, TURNS);
	return bench_end(&bench);
}
