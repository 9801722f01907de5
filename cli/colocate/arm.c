// SPDX-License-Identifier: MIT
/*
 * Runs and measures the windows of one arm (a configuration that colocate compares).
 *
 * For each window: starts the clients (arm_clients.c) and waits until all are ready, and with the
 * shim until the daemon or the other shims know them; reads the counters of the simulation and of
 * the daemon; makes all clients begin; waits for the window's end; reads the counters again; waits
 * until the clients have ended, and reads their results.
 */
#include "cli/colocate/arm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/inspect/process.h"
#include "cli/output/progress.h"
#include "common/allocate.h"
#include "common/clock.h"

/* The GPU's counters are read TIME_BEGIN_NS after the window's beginning and TIME_END_NS before its
 * end. simulation.json may be up to SIMULATION_LAG_MS old, so the first reading waits until it
 * covers the window's beginning. The second is early because clients end with the window. */
#define TIME_BEGIN_NS ((SIMULATION_LAG_MS + 50) * MS)
#define TIME_END_NS (50 * MS)

const struct arm_kind arm_kinds[ARM_COUNT] = {
	[ARM_ALONE] = {.name = "alone", .by_default = true},
	[ARM_SHARED] = {.name = "shared", .by_default = true},
	[ARM_TRAP] = {.name = "trap",
		      .by_default = true,
		      .daemon = true,
		      .preempts = true,
		      .level = "trap"},
	[ARM_SELF] = {.name = "self",
		      .daemon = true,
		      .preempts = true,
		      .level = "self",
		      .level_setting = "self",
		      .beyond = "without waking the agents of the offline processes"},
	/* Level "gate" suspends no queue: the threads wait before they submit. kfdsim counts that
	 * time as idle and not as held. */
	[ARM_GATE] = {.name = "gate",
		      .daemon = true,
		      .level = "gate",
		      .level_setting = "gate",
		      .unknown = 1u << TIME_DETECTION | 1u << TIME_HOLD_OVER |
				 1u << TIME_IDLE_HELD | 1u << TIME_OWN_GAPS,
		      .beyond = "without the work that offline has submitted"},
	/* TIME_DETECTION and TIME_HOLD_OVER are not known separately, because only a daemon reports
	 * the hold-over time. */
	[ARM_PEERS] = {.name = "peers",
		       .preempts = true,
		       .level = "self",
		       .level_setting = "self",
		       .unknown = 1u << TIME_DETECTION | 1u << TIME_HOLD_OVER,
		       .beyond = "without waking the agents of the offline processes"},
};

int arm_child_failed(const struct subprocess *child)
{
	char how[64];

	progress_note("%s %s", child->name, child_end_text(child->status, how));
	return WIFEXITED(child->status) && WEXITSTATUS(child->status) == CLI_IMPOSSIBLE
		       ? -EOPNOTSUPP
		       : -ECHILD;
}

/* Returns 0 while all children run. A child that has ended during a measurement is an error. */
static int all_live(const struct arm_setup *setup)
{
	for (unsigned i = 0; i < setup->children->count; i++)
		if (setup->children->list[i].ended)
			return arm_child_failed(&setup->children->list[i]);
	return 0;
}

int arm_pump(const struct arm_setup *setup, int timeout_ms)
{
	int rc = process_group_pump(setup->children, timeout_ms);

	return rc ? rc : all_live(setup);
}

int arm_pause_ms(const struct arm_setup *setup, unsigned ms)
{
	uint64_t end = clock_ns() + ms * MS;
	uint64_t now;
	int rc = 0;

	while (rc == 0 && (now = clock_ns()) < end)
		rc = arm_pump(setup, (int)((end - now) / MS) + 1);
	return rc;
}

/* Reads the totals of the costs (saves, restores, doorbell delays) that kfdsim has counted so far.
 * Does nothing on hardware. */
static int read_simulation(const struct colocation *run, struct simulation *out)
{
	int rc;

	if (!run->simulated)
		return 0;
	rc = simulation_read(SIMULATION_PATH, out);
	if (rc)
		progress_note("cannot read %s again: %s", SIMULATION_PATH, strerror(-rc));
	return rc;
}

/* Reads how the GPU's time was spent so far, and which part of it the offline clients have used. On
 * hardware only the daemon's hold-over time is known. Without an offline client nothing is read. */
static void read_time(const struct window *window, const struct colocation *run,
		      struct time_reading *out)
{
	pid_t pids[RESULT_CLIENTS_MAX];
	unsigned n = arm_offline_pids(window, pids);
	bool known = run->simulated;

	out->n_gpus = 0;
	if (!n)
		return;
	out->wall_ns = clock_ns();
	out->held_over_us = arm_held_over_us(window);
	for (unsigned i = 0; known && i < n; i++) {
		pids[i] = observe_host_pid(pids[i]);
		known = pids[i] != 0;
	}
	if (known && time_read(SIMULATION_PATH, pids, n, out))
		progress_note("%s: %s has no breakdown of the time", window->name, SIMULATION_PATH);
}

/* Waits until `until` (clock_ns()) and shows the progress of the window, which began at `start` and
 * lasts `seconds`. A child that ends before `until` is an error. */
static int run_until(const struct window *window, uint64_t start, double seconds, uint64_t until)
{
	uint64_t now;
	int rc = 0;

	while (rc == 0 && (now = clock_ns()) < until) {
		uint64_t left_ms = (until - now) / MS + 1;

		progress_live("%s, seed %u: %.0f of %g s", window->name, window->setup->seed,
			      (double)(now - start) / 1e9, seconds);
		rc = process_group_pump(window->setup->children,
					left_ms < 500 ? (int)left_ms : 500);
		/* Clients end a few ms after their time. If this process is woken late, some may
		 * have ended already, so they are only checked before `until`. */
		if (rc == 0 && clock_ns() < until)
			rc = all_live(window->setup);
	}
	return rc;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Makes the clients begin, and waits for the end of the window. Reads the GPU's time near its
 * beginning and near its end. */
static int run_window(struct window *window, const struct colocation *run)
{
	uint64_t start = clock_ns(), span = (uint64_t)(run->seconds * 1e9);
	/* The GPU's time is read TIME_BEGIN_NS after the start and TIME_END_NS before the end, but
	 * in a short window a quarter of its length after the start and before the end. */
	const uint64_t until[] = {start + least(TIME_BEGIN_NS, span / 4),
				  start + span - least(TIME_END_NS, span / 4), start + span};
	int rc = arm_go(window);

	for (unsigned i = 0; rc == 0 && i < 3; i++) {
		rc = run_until(window, start, run->seconds, until[i]);
		if (rc == 0 && i < 2)
			read_time(window, run, &window->time[i]);
	}
	return rc;
}

/* Adds to `run` what the daemon has counted between two readings. Leaves out the durations of
 * suspends in ARM_GATE, which are no driver calls. */
static void take_totals(struct arm_totals *before, struct arm_totals *after, enum arm arm,
			struct colocation *run)
{
	struct arm_stats *stats = &run->arms[arm];

	hist_subtract(&after->detection, &before->detection);
	hist_subtract(&after->holdover, &before->holdover);
	stats->suspends = (uint64_t)(after->suspends - before->suspends);
	stats->resumes = (uint64_t)(after->resumes - before->resumes);
	stats->suspend_delay_us = (double)after->detection.sum / 1e3 * run->time_scale;
	stats->resume_delay_us = (double)after->holdover.sum / 1e3 * run->time_scale;
	hist_subtract(&after->suspend, &before->suspend);
	hist_subtract(&after->resume, &before->resume);
	if (!arm_kinds[arm].preempts)
		return;
	hist_add_all(&run->suspend, &after->suspend);
	hist_add_all(&run->resume, &after->resume);
}

/* Measures one window of clients that are ready, and adds the result to `run`. Counters of the
 * simulation and of the daemon are read before and after the window, and their differences count.
 * The caller ends the children. */
static int measure(struct window *window, struct colocation *run)
{
	struct simulation before = {0}, after = {0};
	struct arm_totals *totals = allocate(2, sizeof(*totals));
	struct arm_stats *stats = &run->arms[window->arm];
	int rc;

	rc = arm_kinds[window->arm].level ? arm_wait_registered(window, &stats->level) : 0;
	/* Wait until simulation.json includes the costs of the start-up, so that the difference
	 * leaves them out. */
	if (rc == 0)
		rc = arm_pause_ms(window->setup, SIMULATION_LAG_MS + 50);
	if (rc == 0)
		rc = read_simulation(run, &before);
	if (rc == 0 && window->socket)
		rc = arm_query_totals(window, &totals[0]);
	if (rc == 0)
		rc = run_window(window, run);
	if (rc == 0 && window->socket)
		rc = arm_query_totals(window, &totals[1]);
	if (rc == 0)
		rc = read_simulation(run, &after);
	if (rc == 0)
		rc = arm_set_stats(window, run);
	if (rc == 0 && arm_offline_pids(window, NULL)) {
		time_between(&window->time[0], &window->time[1], run->time_scale, &stats->time);
		time_forget(&stats->time, arm_kinds[window->arm].unknown);
	}
	if (rc == 0 && run->simulated) {
		/* Subtract the costs from before the window. */
		simulation_subtract(&after, &before);
		result_charge(run, window->arm, &after);
	}
	if (rc == 0 && window->socket)
		take_totals(&totals[0], &totals[1], window->arm, run);
	free(totals);
	return rc;
}

/* Starts the clients that were added to the window, measures them and ends them. `name`: name of
 * the window, for messages. */
static int run_clients(struct window *window, const char *name, struct colocation *run)
{
	int rc;

	window->name = name;
	rc = arm_start_clients(window);
	if (rc == 0)
		rc = measure(window, run);
	process_group_empty(window->setup->children);
	window->count = 0;
	return rc;
}

/* Measures one window for each online client. With the first seed also measures one window of all
 * offline clients together. */
static int run_alone(struct window *window, struct colocation *run)
{
	unsigned online = run->online_clients.count;
	char name[32] = "alone (online)";
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < online; i++) {
		if (online > 1)
			snprintf(name, sizeof(name), "alone (online %u)", i + 1);
		arm_add_clients(window, true, i, 1);
		rc = run_clients(window, name, run);
	}
	if (rc || window->setup->seed > 1)
		return rc;
	arm_add_clients(window, false, 0, run->offline_clients.count);
	return run_clients(window, "alone (offline)", run);
}

/* Measures all clients in one window, with a private daemon if the arm has one
 * (arm_kind.daemon). */
static int run_together(struct window *window, struct colocation *run)
{
	char socket[PATH_MAX];
	int rc = 0;

	if (arm_kinds[window->arm].daemon) {
		snprintf(socket, sizeof(socket), "%s/socket", window->setup->directory);
		window->socket = socket;
		rc = arm_start_daemon(window, run->time_scale);
	}
	arm_add_clients(window, true, 0, run->online_clients.count);
	arm_add_clients(window, false, 0, run->offline_clients.count);
	if (rc == 0)
		rc = run_clients(window, arm_kinds[window->arm].name, run);
	window->socket = NULL;
	return rc;
}

/* Combines the results of each client into those of all clients. In ARM_ALONE the request times
 * move from the window to `run`; in the other arms arm_run() frees them. */
static void take_all(struct window *window, struct colocation *run)
{
	struct arm_stats *stats = &run->arms[window->arm];

	result_all_online(run, window->requests, stats);
	/* In ARM_ALONE the offline clients run with the first seed only. */
	if (window->arm != ARM_ALONE || window->setup->seed == 1)
		result_all_offline(run, stats);
	if (window->arm == ARM_ALONE) {
		memcpy(run->requests[window->setup->seed - 1], window->requests,
		       sizeof(window->requests));
		memset(window->requests, 0, sizeof(window->requests));
	}
}

/* Prints which arm (configuration to compare) begins and how many windows it has, if there is no
 * live progress line. */
static void print_arm(const struct arm_setup *setup, enum arm arm, const struct colocation *run)
{
	unsigned windows = arm == ARM_ALONE ? setup->online->count + (setup->seed == 1) : 1;
	char times[32] = "";

	if (windows == 2)
		strcpy(times, " twice");
	else if (windows > 2)
		snprintf(times, sizeof(times), " %u times", windows);
	if (!progress_is_live())
		progress_note("arm %s, seed %u of %u, %g s%s", arm_kinds[arm].name, setup->seed,
			      run->seeds, run->seconds, times);
}

int arm_run(const struct arm_setup *setup, enum arm arm, struct colocation *out)
{
	struct window window = {.setup = setup, .arm = arm};
	int rc;

	out->arms[arm] = (struct arm_stats){0};
	print_arm(setup, arm, out);
	rc = arm == ARM_ALONE ? run_alone(&window, out) : run_together(&window, out);
	if (rc == 0)
		take_all(&window, out);
	progress_clear();
	process_group_empty(setup->children);
	for (unsigned i = 0; i < RESULT_CLIENTS_MAX; i++)
		request_list_free(&window.requests[i]);
	out->arms[arm].ran = rc == 0;
	return rc;
}
