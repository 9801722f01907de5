// SPDX-License-Identifier: MIT
#include "tests/system/seeded/scenarios.h"

#include "scheduler/daemon/config/config.h"
#include "tests/system/seeded/daemon.h"
#include "tests/system/seeded/listener.h"
#include "tests/system/seeded/program.h"

#define BUSY_NS (150 * MS) /* time for which the programs work */
#define EVENTS_MAX 16
#define IDLE_NS (3200 * MS)  /* an executor process without a target ends after 3 s */
#define QUIT_NS (400 * MS)   /* executors get a request to quit 200 ms before they are killed */
#define CLIMB_NS (3000 * MS) /* time after which a level that was left may be tried again */
#define LIMIT_NS (60 * SECOND)
#define USER 1001u

#define SWIFT                                                                                      \
	{                                                                                          \
		.suspend_ns = 500 * US                                                             \
	}
#define SHARP                                                                                      \
	{                                                                                          \
		.contention_ns = 12 * MS, .release_ns = 150 * MS, .destroy_ns = 4 * MS,            \
		.hold_cmd_ns = 10 * MS                                                             \
	}
/* After a kill of one of the daemon's processes, the daemon and the leases of the agents need
 * time. */
#define PATIENT                                                                                    \
	{                                                                                          \
		.release_ns = 4000 * MS, .destroy_ns = 400 * MS, .hold_cmd_ns = 10 * MS            \
	}

const struct scenario scenarios[] = {
	{.name = "one beside one", .online = 1, .offline = 1, .driver = SWIFT, .bounds = SHARP},
	{.name = "some beside some", .online = 2, .offline = 3, .driver = SWIFT, .bounds = SHARP},
	{.name = "queues come and go",
	 .online = 1,
	 .offline = 2,
	 .churn = 1,
	 .driver = {.suspend_ns = 500 * US, .destroy_may_fail = true},
	 .bounds = SHARP},
	{.name = "killed, and another program",
	 .online = 2,
	 .offline = 3,
	 .churn = 2,
	 .kills = 4,
	 .execs = 2,
	 .driver = SWIFT,
	 .bounds = SHARP},
	{.name = "they come and go",
	 .online = 1,
	 .offline = 5,
	 .kills = 10,
	 .driver = SWIFT,
	 .bounds = SHARP},
	{.name = "minds change",
	 .online = 1,
	 .offline = 2,
	 .changes = 6,
	 .reloads = 3,
	 .driver = SWIFT,
	 .bounds = SHARP},
	{.name = "two tenants",
	 .online = 2,
	 .offline = 3,
	 .churn = 2,
	 .kills = 2,
	 .tenants = 2,
	 .driver = SWIFT,
	 .bounds = SHARP},
	{.name = "grants",
	 .online = 2,
	 .offline = 3,
	 .reloads = 2,
	 .tenants = 2,
	 .grants = true,
	 .driver = SWIFT,
	 .bounds = SHARP},
	{.name = "only the tracer",
	 .online = 1,
	 .offline = 2,
	 .churn = 2,
	 .kills = 2,
	 .driver = {.suspend_ns = 500 * US, .tracer_only = true},
	 .bounds = SHARP},
	{.name = "suspends fail",
	 .online = 1,
	 .offline = 3,
	 .churn = 2,
	 .kills = 1,
	 .driver = {.suspend_ns = 500 * US, .fails_one_in = 8},
	 .bounds = {.contention_ns = 12 * MS,
		    .release_ns = 250 * MS,
		    .destroy_ns = 40 * MS,
		    .hold_cmd_ns = 20 * MS}},
	{.name = "suspends are slow",
	 .online = 1,
	 .offline = 3,
	 .churn = 2,
	 .kills = 1,
	 .driver = {.suspend_ns = 5 * MS, .slow_one_in = 2},
	 /* the cost of a suspend determines how long a gang is held over (hold_over_ns) */
	 .bounds = {.release_ns = 2500 * MS, .destroy_ns = 200 * MS, .hold_cmd_ns = 150 * MS}},
	{.name = "they hold themselves",
	 .online = 1,
	 .offline = 2,
	 .churn = 2,
	 .kills = 1,
	 .level = "self",
	 .driver = SWIFT,
	 .bounds = {.release_ns = 250 * MS, .destroy_ns = 100 * MS, .hold_cmd_ns = 20 * MS}},
	{.name = "a gate",
	 .online = 1,
	 .offline = 2,
	 .level = "gate",
	 .kills = 2,
	 .driver = SWIFT,
	 .bounds = SHARP},
	{.name = "no right to trace",
	 .online = 1,
	 .offline = 2,
	 .churn = 2,
	 .kills = 1,
	 .driver = {.suspend_ns = 500 * US, .no_trace = true},
	 .bounds = {.release_ns = 250 * MS, .destroy_ns = 100 * MS, .hold_cmd_ns = 20 * MS}},
	{.name = "executors are killed",
	 .online = 1,
	 .offline = 3,
	 .churn = 2,
	 .kills = 1,
	 .executor_kills = 2,
	 .driver = SWIFT,
	 .bounds = PATIENT},
	{.name = "executors are stopped",
	 .online = 1,
	 .offline = 3,
	 .churn = 2,
	 .kills = 1,
	 .executor_stops = 2,
	 .driver = SWIFT,
	 .bounds = PATIENT},
	{.name = "workers are killed",
	 .online = 1,
	 .offline = 3,
	 .churn = 2,
	 .kills = 1,
	 .worker_kills = 2,
	 .driver = SWIFT,
	 .bounds = PATIENT},
};
const unsigned scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

static const struct scenario *it;
/* what separates the tenants: 0 users, 1 PID namespaces, 2 user namespaces */
static unsigned apart;
static bool finished;

static void start_program(bool online)
{
	unsigned tenant = it->grants && !one_in(4) ? !online : (unsigned)random_below(it->tenants);
	struct program_ways ways = {
		.priority = online ? 15 : (int)random_between(0, 3),
		.level = online ? NULL : it->level,
		.uid = USER + (apart == 0 ? tenant : 0),
		.pid_ns = 1 + (apart == 1 ? tenant : 0),
		.user_ns = 1 + (apart == 2 ? tenant : 0),
		.node = one_in(4),
		.work_most_ns = it->grants || one_in(3) ? 60 * MS
				: online		? 2 * MS
							: 8 * MS,
		.gap_most_ns = one_in(3) ? 100 * US
			       : online	 ? 20 * MS
					 : 4 * MS,
		.churn = !online && it->churn && one_in(it->churn),
	};

	program_start(&ways);
}

static struct program *any_program(void)
{
	unsigned from = (unsigned)random_below(PROGRAMS);

	for (unsigned i = 0; i < PROGRAMS; i++)
		if (program_runs(&programs[(from + i) % PROGRAMS]))
			return &programs[(from + i) % PROGRAMS];
	return NULL;
}

/* Returns a random configuration, valid until the next call. */
static const struct config *any_config(void)
{
	static struct config config;

	config_default(&config);
	config.core.hold_over = one_in(2);
	config.core.online_weight = (uint32_t)random_below(4);
	config.core.max_online_overhead = one_in(2) ? 0 : 5;
	config.authority.count = it->grants && one_in(2);
	config.authority.grant[0] = (struct grant){.preemptor = {.kind = PARTY_UID, .id = USER},
						   .victim = {.kind = PARTY_UID, .id = USER + 1}};
	config.rules.count = it->grants && one_in(2);
	config.rules.rule[0] = (struct rule){.name = "other",
					     .conditions = RULE_UID,
					     .effects = RULE_PRIORITY,
					     .uids = {.count = 1, .id = {USER + 1}},
					     .priority = (int)random_below(16)};
	return &config;
}

/* ---- events ---- */

static void kill_program(void)
{
	struct program *program = any_program();
	bool online;

	if (!program)
		return;
	online = program->ways.priority == 15;
	process_kill(program->process);
	if (one_in(2))
		start_program(online);
}

static void exec_program(void)
{
	struct program *program = any_program();

	if (program)
		program_exec(program, one_in(2));
}

static void change_mind(void)
{
	struct program *program = any_program();

	if (program)
		program_setting(program, (int)random_below(16));
}

static void reload(void)
{
	checks_disturbed();
	daemon_configure(any_config());
}

static void kill_worker(void)
{
	checks_disturbed();
	daemon_kill_worker();
}

static void kill_executor(void)
{
	checks_disturbed();
	daemon_kill_executor();
}

static void stop_executor(void)
{
	checks_disturbed();
	daemon_stop_executor();
}

static unsigned draw(void (*events[EVENTS_MAX])(void), unsigned n, unsigned most,
		     void (*event)(void))
{
	for (uint64_t left = random_below(most + 1); left && n < EVENTS_MAX; left--)
		events[n++] = event;
	return n;
}

static void disturb(void)
{
	void (*events[EVENTS_MAX])(void);
	unsigned n = 0;

	n = draw(events, n, it->kills, kill_program);
	n = draw(events, n, it->execs, exec_program);
	n = draw(events, n, it->changes, change_mind);
	n = draw(events, n, it->reloads, reload);
	n = draw(events, n, it->worker_kills, kill_worker);
	n = draw(events, n, it->executor_kills, kill_executor);
	n = draw(events, n, it->executor_stops, stop_executor);
	for (; n; n--) {
		unsigned i = (unsigned)random_below(n);

		fiber_sleep(random_below(BUSY_NS / (n + 1)));
		events[i]();
		events[i] = events[n - 1];
	}
}

static bool all_gone(void *arg)
{
	(void)arg;
	return programs_running() == 0;
}

static bool has_left(void *arg)
{
	(void)arg;
	return !daemon_worker();
}

/* The daemon leaves before the programs end, in the middle of their work, which must continue. */
static void leave_early(void)
{
	checks_disturbed();
	daemon_leave();
	fiber_wait(has_left, NULL, now_ns() + SECOND);
	fiber_sleep(it->bounds.destroy_ns);
	check_without();
	programs_rest();
	programs_end();
	fiber_wait(all_gone, NULL, now_ns() + 10 * SECOND);
	fiber_sleep(500 * MS);
	check_left();
}

static void leave_last(void)
{
	programs_rest();
	if (one_in(2)) {
		fiber_sleep(it->bounds.release_ns + (it->driver.slow_one_in ? CLIMB_NS : 100 * MS));
		check_rest();
	}
	programs_end();
	fiber_wait(all_gone, NULL, now_ns() + 10 * SECOND);
	fiber_sleep(it->worker_kills || it->executor_kills || it->executor_stops ? QUIT_NS
										 : 100 * MS);
	check_ended();
	daemon_leave();
	fiber_wait(has_left, NULL, now_ns() + SECOND);
	fiber_sleep(one_in(4) ? IDLE_NS : 500 * MS);
	check_left();
}

static void play(void *arg)
{
	uint64_t begin = now_ns();

	(void)arg;
	for (uint64_t n = random_between(1, it->online); n; n--)
		start_program(true);
	for (uint64_t n = random_between(1, it->offline); n; n--)
		start_program(false);
	disturb();
	if (now_ns() < begin + BUSY_NS)
		fiber_sleep(begin + BUSY_NS - now_ns());
	if (one_in(4))
		leave_early();
	else
		leave_last();
	finished = true;
	fiber_stop();
}

void scenario_run(const struct scenario *scenario)
{
	it = scenario;
	apart = it->grants ? 0 : (unsigned)random_below(3);
	finished = false;
	listener_begin();
	programs_begin();
	driver_begin(&scenario->driver);
	daemon_begin(any_config());
	checks_begin(&scenario->bounds);
	fiber_start(NULL, "scenario", play, NULL);
	fiber_run(now_ns() + LIMIT_NS, checks_idle);
	if (!finished)
		fail("the run has not come to its end");
}
