// SPDX-License-Identifier: MIT
/*
 * Proves, by many seeds: the rules of checks.h hold for worker, executors, the watchdog's handling
 * of these, and agents, in any order of their threads' steps. All of these are the real code; the
 * driver is a mock; a scheduler with a seed (fiber.h) decides which thread runs.
 *
 *   seeded [--seed N | --from N] [--seeds N] [--scenario NAME] [--verbose]
 *
 * A failure prints its seed, with which --seed N (or SEED=N in the environment) repeats the run,
 * and the last lines of its log. SEEDS=N is the same as --seeds N. Exit code 0: all runs passed; 1:
 * a run failed; 2: wrong use.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/system/seeded/daemon.h"
#include "tests/system/seeded/driver.h"
#include "tests/system/seeded/files.h"
#include "tests/system/seeded/images.h"
#include "tests/system/seeded/program.h"
#include "tests/system/seeded/scenarios.h"

#define SEEDS 500
#define MANY 50	 /* runs, of which each should have a suspend on average */
#define LINES 60 /* log lines printed of a failed run */

IMAGE_SYMBOLS(watchdog_0);
IMAGE_SYMBOLS(worker_0);
IMAGE_SYMBOLS(executor_0);
IMAGE_SYMBOLS(executor_1);
IMAGE_SYMBOLS(executor_2);
IMAGE_SYMBOLS(agent_0);
IMAGE_SYMBOLS(agent_1);
IMAGE_SYMBOLS(agent_2);
IMAGE_SYMBOLS(agent_3);
IMAGE_SYMBOLS(agent_4);
IMAGE_SYMBOLS(agent_5);

#ifdef SEEDED_THREAD_SANITIZER
/* Known races in the executors' table, by plain stores while other processes read the words by
 * atomics: the worker fills a slot that the watchdog reads, but the watchdog decides nothing by one
 * read; and the watchdog clears the table while processes that have got the request to quit still
 * search it for new targets. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:executor_start\nrace:executors_reset\n";
}
#endif

static struct {
	uint64_t from, seeds;
	const char *scenario;
	bool verbose;
} options = {.from = 1, .seeds = SEEDS};

static void keep_images(void)
{
	const struct image executors[] = {IMAGE(executor_0), IMAGE(executor_1), IMAGE(executor_2)};
	const struct image agents[] = {IMAGE(agent_0), IMAGE(agent_1), IMAGE(agent_2),
				       IMAGE(agent_3), IMAGE(agent_4), IMAGE(agent_5)};

	watchdog_image = (struct image)IMAGE(watchdog_0);
	worker_image = (struct image)IMAGE(worker_0);
	memcpy(executor_images, executors, sizeof(executors));
	memcpy(agent_images, agents, sizeof(agents));
	images_keep(&watchdog_image, 1);
	images_keep(&worker_image, 1);
	images_keep(executor_images, EXECUTOR_IMAGES);
	images_keep(agent_images, AGENT_IMAGES);
}

static const struct scenario *scenario_of(uint64_t seed)
{
	for (unsigned i = 0; options.scenario && i < scenario_count; i++)
		if (strcmp(scenarios[i].name, options.scenario) == 0)
			return &scenarios[i];
	return &scenarios[seed % scenario_count];
}

static bool run(uint64_t seed)
{
	const struct scenario *scenario = scenario_of(seed);

	fiber_begin(seed);
	processes_begin();
	scenario_run(scenario);
	if (options.verbose || has_failed())
		notes_print(options.verbose ? UINT32_MAX : LINES);
	if (options.verbose)
		fprintf(stderr, "seed %llu (%s): %llu switches\n", (unsigned long long)seed,
			scenario->name, (unsigned long long)fiber_switches());
	driver_end();
	processes_end();
	if (!has_failed())
		return true;
	fprintf(stderr, "seed %llu (%s) failed: %s; repeat it with SEED=%llu\n",
		(unsigned long long)seed, scenario->name, failure(), (unsigned long long)seed);
	return false;
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (*text && !*end)
		return n;
	fprintf(stderr, "seeded: '%s' is no number\n", text);
	exit(2);
}

static void read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"seed", required_argument, NULL, 's'},	    {"from", required_argument, NULL, 'f'},
		{"seeds", required_argument, NULL, 'n'},    {"verbose", no_argument, NULL, 'v'},
		{"scenario", required_argument, NULL, 'c'}, {0}};
	const char *seed = getenv("SEED"), *seeds = getenv("SEEDS");
	int c;

	if (seeds)
		options.seeds = number(seeds);
	while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		if (c == 's')
			seed = optarg;
		else if (c == 'f')
			options.from = number(optarg);
		else if (c == 'n')
			options.seeds = number(optarg);
		else if (c == 'c')
			options.scenario = optarg;
		else if (c == 'v')
			options.verbose = true;
		else
			exit(2);
	}
	if (!seed)
		return;
	options.from = number(seed);
	options.seeds = 1;
}

int main(int argc, char **argv)
{
	clock_t begin = clock();
	uint64_t i = 0;

	read_options(argc, argv);
	keep_images();
	while (i < options.seeds && run(options.from + i))
		i++;
	printf("%llu runs passed with %llu suspends, in %.1f s of CPU\n", (unsigned long long)i,
	       (unsigned long long)driver_suspends, (double)(clock() - begin) / CLOCKS_PER_SEC);
	if (i == options.seeds && i >= MANY && driver_suspends < i) {
		fprintf(stderr, "seeded: without suspends these runs prove nothing\n");
		return 1;
	}
	return i < options.seeds;
}
