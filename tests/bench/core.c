// SPDX-License-Identifier: MIT
/*
 * Measures the scheduler's core alone: the number of instructions of an event (counted by
 * callgrind, so that it is the same in every run), and the events per second of a core. An event is
 * a client that becomes active or idle, with the decision that follows, or the completion of an
 * action. There are two populations. In the first, a random one of 1,000 clients changes, 125 on
 * each of 8 nodes. The second is the worst case for few clients: 16 on one node, of which the
 * online one starts and finishes all the time, so that each event concerns all others.
 *
 * Measures also the growth from 10 to 100 and 1,000 clients, on 8 nodes with the policy deadline.
 * After each event the sums of all nodes are read, as the daemon's loop does. The clients are
 * containers (each a tenant, with an online and an offline client on one node), or of one tenant (a
 * sixteenth of them online).
 *
 * Measures also the release of all clients at the starvation bound, where each one has used 16 GPUs
 * and all have work on the same one: the instructions for one client of 100 and of 1,000.
 *
 *     bench_core                          measures
 *     bench_core few|many                 the part that callgrind counts, and nothing else
 *     bench_core containers|tenant N      the same with N clients
 *     bench_core release N                the same of the release of N clients
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/core/sched.h"
#include "tests/bench/report.h"

#define ROUNDS 7
#define CLIENTS_MAX 1000u
#define ACTIONS 1024u
#define TIMED_FEW 200000u
#define TIMED_MANY 1000000u
#define COUNTED 20000u
#define GROWTH 3

struct play {
	struct core *core;
	core_id clients[CLIENTS_MAX];
	uint64_t now, events, actions;
	uint64_t rng;
};

/* CPU time of this process, which other load on the machine does not change. */
static uint64_t cpu_ns(void)
{
	return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

static uint32_t draw(struct play *play, uint32_t n)
{
	play->rng ^= play->rng << 13;
	play->rng ^= play->rng >> 7;
	play->rng ^= play->rng << 17;
	return (uint32_t)(play->rng >> 33) % n;
}

static void begin_core(struct play *play, enum policy rule)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	config.policy.rule = rule;
	*play = (struct play){.now = 1000000000u, .rng = 0x9e3779b97f4a7c15u};
	play->core = core_create(&config, CLIENTS_MAX + 1); /* and the online one of a release */
	if (!play->core)
		exit(1);
}

static void begin(struct play *play, uint32_t clients)
{
	begin_core(play, POLICY_strict);
	for (uint32_t i = 0; i < clients; i++) {
		play->clients[i] = core_add(play->core, 1, 0, i % 16 ? 2 : 15, play->now);
		core_set_capability(play->core, play->clients[i], CORE_ABLE);
	}
}

/* One change of a client's activity, the decision, and the completion of its actions 20 us
 * later. */
static void event(struct play *play, uint32_t client, uint32_t node, bool active)
{
	static struct core_action actions[ACTIONS];
	uint64_t deadline;
	size_t n;

	core_set_activity(play->core, play->clients[client], 100 + node, active, play->now);
	n = core_decide(play->core, play->now, actions, ACTIONS, &deadline);
	play->now += 20000;
	for (size_t i = 0; i < n; i++)
		core_finished(play->core, actions[i].client, 0, 20000, play->now);
	play->now += 20000;
	play->events++;
	play->actions += n;
}

void play_few(struct play *play, unsigned n);
void play_many(struct play *play, unsigned n);

__attribute__((noinline)) void play_few(struct play *play, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		event(play, 0, 0, i % 2 == 0);
}

__attribute__((noinline)) void play_many(struct play *play, unsigned n)
{
	static bool active[CLIENTS_MAX];
	uint32_t client;

	for (unsigned i = 0; i < n; i++) {
		client = draw(play, CLIENTS_MAX);
		active[client] = !active[client];
		event(play, client, client % 8, active[client]);
	}
	memset(active, 0, sizeof active);
}

#define NODES 8u

/* Returns the node of client i, in either population. */
static uint32_t node_of(bool containers, uint32_t i)
{
	return (containers ? i / 2 : i) % NODES;
}

static void begin_growing(struct play *play, bool containers, uint32_t clients)
{
	begin_core(play, POLICY_deadline);
	for (uint32_t i = 0; i < clients; i++) {
		bool online = containers ? i % 2 : i / NODES % 16 == 0;

		play->clients[i] = core_add(play->core, containers ? 1 + i / 2 : 1, 0,
					    online ? 15 : 2, play->now);
		core_set_capability(play->core, play->clients[i], CORE_ABLE);
		if (online)
			core_set_slo(play->core, play->clients[i], 50000000);
	}
}

void play_growing(struct play *play, bool containers, uint32_t clients, unsigned n);
__attribute__((noinline)) void play_growing(struct play *play, bool containers, uint32_t clients,
					    unsigned n)
{
	static bool active[CLIENTS_MAX];
	uint32_t client, suspended;
	bool urgent;

	for (unsigned i = 0; i < n; i++) {
		client = draw(play, clients);
		active[client] = !active[client];
		event(play, client, node_of(containers, client), active[client]);
		for (uint32_t node = 0; node < NODES; node++)
			core_view_node(play->core, 100 + node, &urgent, &suspended);
	}
	memset(active, 0, sizeof active);
}

#define RELEASED_GPUS 16u

/* Makes `clients` clients that are held by one more, which is online. */
static void begin_release(struct play *play, uint32_t clients)
{
	static struct core_action actions[CLIENTS_MAX];
	core_id online, c;
	uint64_t deadline;
	size_t n;

	begin_core(play, POLICY_strict);
	online = core_add(play->core, 1, 0, 15, play->now);
	core_set_activity(play->core, online, 1, true, play->now);
	for (uint32_t i = 0; i < clients; i++) {
		c = core_add(play->core, 1, 0, 2, play->now);
		core_set_capability(play->core, c, CORE_ABLE);
		core_set_activity(play->core, c, 1, true, play->now);
		for (uint32_t gpu = 1; gpu < RELEASED_GPUS; gpu++)
			core_set_activity(play->core, c, 1 + i * RELEASED_GPUS + gpu, false,
					  play->now);
	}
	n = core_decide(play->core, play->now, actions, CLIENTS_MAX, &deadline);
	for (size_t i = 0; i < n; i++)
		core_finished(play->core, actions[i].client, 0, 1000000, play->now);
}

void play_release(struct play *play);
__attribute__((noinline)) void play_release(struct play *play)
{
	struct core_config config = CORE_CONFIG_DEFAULT;
	static struct core_action actions[CLIENTS_MAX];
	uint64_t deadline;

	play->events = core_decide(play->core, play->now + config.max_suspended_ns, actions,
				   CLIENTS_MAX, &deadline);
}

static void begin_few(struct play *play)
{
	begin(play, 16);
	for (uint32_t i = 1; i < 16; i++)
		event(play, i, 0, true);
	play->events = play->actions = 0;
}

/* Returns millions of events per second of a core. */
static double few(struct play *play)
{
	uint64_t start;

	begin_few(play);
	start = cpu_ns();
	play_few(play, TIMED_FEW);
	return (double)(play->events + play->actions) * 1e3 / (double)(cpu_ns() - start);
}

static double many(struct play *play)
{
	uint64_t start;

	begin(play, CLIENTS_MAX);
	start = cpu_ns();
	play_many(play, TIMED_MANY);
	return (double)(play->events + play->actions) * 1e3 / (double)(cpu_ns() - start);
}

/* Plays a population and prints the number of events on stdout. Returns an exit status. */
static int counted(const char *what, uint32_t clients)
{
	bool containers = !strcmp(what, "containers");
	struct play play;

	if (!strcmp(what, "release")) {
		begin_release(&play, clients);
		play_release(&play);
	} else if (clients) {
		begin_growing(&play, containers, clients);
		play_growing(&play, containers, clients, COUNTED);
	} else if (!strcmp(what, "few")) {
		begin_few(&play);
		play_few(&play, COUNTED);
	} else {
		begin(&play, CLIENTS_MAX);
		play_many(&play, COUNTED);
	}
	printf("%.0f\n", (double)(play.events + play.actions));
	core_destroy(play.core);
	return 0;
}

/* Returns the sum in the last "totals:" line of callgrind's file; -1 if there is none. */
static double total(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[4096];
	double all = -1;

	while (f && fgets(line, sizeof line, f))
		sscanf(line, "totals: %lf", &all);
	if (f)
		fclose(f);
	return all;
}

/* Returns the instructions per event, counted in play_WHAT(), of at least this number of events.
 * Ends the program if callgrind fails. */
static double count(const char *self, const char *play, const char *what, double at_least)
{
	char path[] = "/tmp/kfdshim-bench-XXXXXX", command[4096];
	double events = 0, all;
	int fd = mkstemp(path);
	FILE *from;

	snprintf(command, sizeof command,
		 "exec valgrind -q --log-file=/dev/null --tool=callgrind --toggle-collect=play_%s "
		 "--callgrind-out-file=%s '%s' %s",
		 play, path, self, what);
	from = fd < 0 ? NULL : popen(command, "re");
	if (!from || fscanf(from, "%lf", &events) != 1 || pclose(from) || events < at_least) {
		fprintf(stderr, "bench_core: callgrind did not come to its end\n");
		exit(1);
	}
	all = total(path);
	close(fd);
	unlink(path);
	return all > 0 ? all / events : NAN;
}

/* Adds the instructions with 10, 100 and 1,000 clients, and their growth from 10 to 1,000. */
static void growth(struct bench *bench, const char *self, const char *what, const char *name)
{
	char arguments[64], label[128];
	double of[3];

	for (unsigned i = 0, clients = 10; i < 3; i++, clients *= 10) {
		snprintf(arguments, sizeof(arguments), "%s %u", what, clients);
		of[i] = count(self, "growing", arguments, COUNTED);
		snprintf(label, sizeof(label), "instructions an event by deadline: %s, %u clients",
			 name, clients);
		bench_figure(bench, label, of[i], "", NULL, 0);
	}
	snprintf(label, sizeof(label), "the growth from 10 clients to 1,000: %s", name);
	bench_figure(bench, label, of[2] / of[0], "x", "at_most", GROWTH);
}

/* Adds the instructions for one client at a release of 100 and of 1,000, and their growth. */
static void release(struct bench *bench, const char *self)
{
	double few = count(self, "release", "release 100", 100),
	       many = count(self, "release", "release 1000", CLIENTS_MAX);

	bench_figure(bench, "instructions a client at a release, 100 clients", few, "", NULL, 0);
	bench_figure(bench, "instructions a client at a release, 1,000 clients", many, "", NULL, 0);
	bench_figure(bench, "the growth from 100 clients to 1,000: release", many / few, "x",
		     "at_most", GROWTH);
}

int main(int argc, char **argv)
{
	double burst[ROUNDS], mixed[ROUNDS];
	struct bench bench;
	struct play play;

	if (argc > 1)
		return counted(argv[1], argc > 2 ? (uint32_t)atoi(argv[2]) : 0);
	bench_begin(&bench, "core", "The scheduler's core alone");
	for (int i = 0; i < ROUNDS; i++) {
		burst[i] = few(&play);
		core_destroy(play.core);
		mixed[i] = many(&play);
		core_destroy(play.core);
	}
	bench_figure(&bench, "instructions an event: 1,000 clients on 8 nodes",
		     count(argv[0], "many", "many", COUNTED), "", "at_most", 1000);
	bench_figure(&bench, "the same: 16 clients, each event concerns 15 of them",
		     count(argv[0], "few", "few", COUNTED), "", "at_most", 10000);
	growth(&bench, argv[0], "containers", "containers");
	growth(&bench, argv[0], "tenant", "one tenant");
	release(&bench, argv[0]);
	bench_figure(&bench, "events a second: 1,000 clients on 8 nodes, median of 7 runs",
		     bench_median(mixed, ROUNDS), "million/s", NULL, 0);
	bench_figure(&bench, "the same: 16 clients, each event concerns 15 of them",
		     bench_median(burst, ROUNDS), "million/s", NULL, 0);
	bench_series(&bench, "1,000 clients", "million/s", mixed, ROUNDS);
	bench_series(&bench, "16 clients", "million/s", burst, ROUNDS);
	return bench_end(&bench);
}
