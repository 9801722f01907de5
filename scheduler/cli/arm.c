// SPDX-License-Identifier: MIT
#include "scheduler/cli/arm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "scheduler/cli/arm_window.h"
#include "scheduler/cli/progress.h"
#include "scheduler/observe/observe.h"

/* Where the time went is read well within a window: what is read may be so old, and the clients
 * end with it. */
#define TIME_BEGIN_NS ((SIMULATION_LAG_MS + 50) * MS)
#define TIME_END_NS (50 * MS)

int arm_child_failed(const struct child *child)
{
	char how[64];

	progress_note("%s %s", child->name, child_end_text(child, how));
	return WIFEXITED(child->status) && WEXITSTATUS(child->status) == CLI_IMPOSSIBLE
		       ? -EOPNOTSUPP
		       : -ECHILD;
}

/* One that has ended is a failure. */
static int all_live(const struct arm_setup *setup)
{
	for (unsigned i = 0; i < setup->nursery->count; i++)
		if (setup->nursery->list[i].ended)
			return arm_child_failed(&setup->nursery->list[i]);
	return 0;
}

int arm_pump(const struct arm_setup *setup, int timeout_ms)
{
	int rc = nursery_pump(setup->nursery, timeout_ms);

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

static int read_simulation(const struct colocation *run, struct simulation *out)
{
	int rc;

	if (!run->simulated)
		return 0;
	rc = simulation_read(SIMULATION_PATH, out);
	if (rc)
		progress_note("%s cannot be read any more: %s", SIMULATION_PATH, strerror(-rc));
	return rc;
}

static void read_time(const struct window *window, const struct colocation *run,
		      struct time_reading *out)
{
	pid_t pid;

	out->n_gpus = 0;
	if (!window->offline.child)
		return;
	out->wall_ns = clock_ns();
	out->held_over_us = arm_held_over_us(window);
	pid = run->simulated ? observe_host_pid(window->offline.child->pid) : 0;
	if (pid && time_read(SIMULATION_PATH, pid, out))
		progress_note("%s: %s does not say where the time went", window->name,
			      SIMULATION_PATH);
}

/* On until `until`, in a window of `seconds` since `start`. */
static int run_until(const struct window *window, uint64_t start, double seconds, uint64_t until)
{
	uint64_t now;
	int rc = 0;

	while (rc == 0 && (now = clock_ns()) < until) {
		uint64_t left_ms = (until - now) / MS + 1;

		progress_live("%s, seed %u: %.0f of %g s", window->name, window->setup->seed,
			      (double)(now - start) / 1e9, seconds);
		rc = nursery_pump(window->setup->nursery, left_ms < 500 ? (int)left_ms : 500);
		/* Clients end a few ms after their time, which is soon where we are woken late. */
		if (rc == 0 && clock_ns() < until)
			rc = all_live(window->setup);
	}
	return rc;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* From "go" to the end of the time. */
static int run_window(struct window *window, const struct colocation *run)
{
	uint64_t start = clock_ns(), span = (uint64_t)(run->seconds * 1e9);
	const uint64_t until[] = {start + least(TIME_BEGIN_NS, span / 4),
				  start + span - least(TIME_END_NS, span / 4), start + span};
	int rc = arm_go(&window->online);

	if (rc == 0)
		rc = arm_go(&window->offline);
	for (unsigned i = 0; rc == 0 && i < 3; i++) {
		rc = run_until(window, start, run->seconds, until[i]);
		if (rc == 0 && i < 2)
			read_time(window, run, &window->time[i]);
	}
	return rc;
}

/* Starts, measures and reads; the caller ends the children. */
static int measure(struct window *window, struct colocation *run)
{
	struct simulation before = {0}, after = {0};
	struct totals *totals = calloc(2, sizeof(*totals));
	struct arm_figures *figures = &run->arms[window->arm];
	int rc = -ENOMEM;

	if (!totals)
		return rc;
	rc = window->socket ? arm_wait_registered(window) : 0;
	/* What start-up charged has to be in the file before it is read. */
	if (rc == 0)
		rc = arm_pause_ms(window->setup, SIMULATION_LAG_MS + 50);
	if (rc == 0)
		rc = read_simulation(run, &before);
	if (rc == 0 && window->socket)
		rc = arm_ask_totals(window, &totals[0]);
	if (rc == 0)
		rc = run_window(window, run);
	if (rc == 0 && window->socket)
		rc = arm_ask_totals(window, &totals[1]);
	if (rc == 0)
		rc = read_simulation(run, &after);
	if (rc == 0)
		rc = arm_take_figures(window, run);
	if (rc == 0 && window->offline.child)
		time_between(&window->time[0], &window->time[1], run->time_scale, &figures->time);
	if (rc == 0 && run->simulated) {
		simulation_subtract(&after, &before);
		result_charge(run, window->arm, &after);
	}
	if (rc == 0 && window->socket) {
		hist_subtract(&totals[1].detection, &totals[0].detection);
		hist_subtract(&totals[1].holdover, &totals[0].holdover);
		figures->suspends = (uint64_t)(totals[1].suspends - totals[0].suspends);
		figures->resumes = (uint64_t)(totals[1].resumes - totals[0].resumes);
		figures->suspend_delay_us = (double)totals[1].detection.sum / 1e3 * run->time_scale;
		figures->resume_delay_us = (double)totals[1].holdover.sum / 1e3 * run->time_scale;
		hist_subtract(&totals[1].suspend, &totals[0].suspend);
		hist_subtract(&totals[1].resume, &totals[0].resume);
		hist_add_all(&run->suspend, &totals[1].suspend);
		hist_add_all(&run->resume, &totals[1].resume);
	}
	free(totals);
	return rc;
}

static int run_clients(const struct arm_setup *setup, enum arm arm, const char *name, bool online,
		       bool offline, const char *socket, struct colocation *run)
{
	struct window window = {
		.setup = setup,
		.arm = arm,
		.name = name,
		.socket = socket,
		.online.role = "online",
		.offline.role = "offline",
	};
	int rc = 0;

	/* One after the other, so that which is first does not depend on the machine. */
	if (online)
		rc = arm_start_client(&window, &window.online, setup->online, true);
	if (rc == 0 && online)
		rc = arm_wait_ready(&window, window.online.child);
	if (rc == 0 && offline)
		rc = arm_start_client(&window, &window.offline, setup->offline, false);
	if (rc == 0 && offline)
		rc = arm_wait_ready(&window, window.offline.child);
	if (rc == 0)
		rc = measure(&window, run);
	return rc;
}

int arm_run(const struct arm_setup *setup, enum arm arm, struct colocation *out)
{
	char socket[PATH_MAX];
	int rc = 0;

	out->arms[arm] = (struct arm_figures){0};
	if (!progress_is_live())
		progress_note("arm %s, seed %u of %u, %g s%s", arm_names[arm], setup->seed,
			      out->seeds, out->seconds,
			      arm == ARM_ALONE && setup->seed == 1 ? " twice" : "");
	if (arm == ARM_ALONE) {
		rc = run_clients(setup, arm, "alone (online)", true, false, NULL, out);
		nursery_empty(setup->nursery);
		if (rc == 0 && setup->seed == 1)
			rc = run_clients(setup, arm, "alone (offline)", false, true, NULL, out);
	} else if (arm == ARM_SHARED) {
		rc = run_clients(setup, arm, "shared", true, true, NULL, out);
	} else {
		snprintf(socket, sizeof(socket), "%s/socket", setup->folder);
		rc = arm_start_daemon(setup, socket, out->time_scale);
		if (rc == 0)
			rc = run_clients(setup, arm, "trap", true, true, socket, out);
	}
	progress_clear();
	nursery_empty(setup->nursery);
	out->arms[arm].ran = rc == 0;
	return rc;
}
