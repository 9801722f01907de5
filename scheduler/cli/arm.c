// SPDX-License-Identifier: MIT
#include "scheduler/cli/arm.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hist_json.h"
#include "scheduler/cli/ask.h"
#include "scheduler/cli/field.h"
#include "scheduler/cli/progress.h"
#include "scheduler/observe/observe.h"

#define MS UINT64_C(1000000)
#define READY_MS 60000	   /* a runtime that loads on a simulated driver is slow */
#define DAEMON_MS 10000	   /* until kfdschedd answers */
#define REGISTERED_MS 5000 /* until both clients can be scheduled */
#define LEAVE_MS 60000	   /* from the end of the window to the end of a client */
/* Where the time went is read well within a window: what is read may be so old, and the clients
 * end with it. */
#define TIME_BEGIN_NS ((SIMULATION_LAG_MS + 50) * MS)
#define TIME_END_NS (50 * MS)
/* slow_suspend_us of the design, wall time at time scale 1. */
#define SLOW_SUSPEND_US 50000.0

/* What the daemon has done since it started. */
struct totals {
	json_int_t suspends, resumes;
	struct hist detection, holdover; /* ns, wall */
	struct hist suspend, resume;	 /* ns, wall: calls */
};

struct client {
	const char *role; /* "online", "offline" */
	struct child *child;
	char json[PATH_MAX], times[PATH_MAX];
};

struct window {
	const struct arm_setup *setup;
	enum arm arm;
	const char *name;   /* for talk: "alone (online)" */
	const char *socket; /* of the arm's daemon; NULL: none, and no shim */
	struct client online, offline;
	struct time_reading time[2];
};

/* Everything a child does not inherit: only what this arm means decides how it
 * is scheduled. KFDSHIM_DISABLE and KFDSHIM_LOG stay the user's. */
#define FORGET                                                                                     \
	"KFDSHIM_PRIORITY", "KFDSHIM_GROUP", "KFDSHIM_SLO", "KFDSHIM_LEVEL", "KFDSHIM_VRAM_LIMIT", \
		"KFDSHIM_SOCKET", "KFDSHIM_GATE", "KFDSHIM_UPDATE_QUEUE"

static int child_failed(const struct child *child)
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
			return child_failed(&setup->nursery->list[i]);
	return 0;
}

/* One round of waiting, in which none may end. */
static int pump(const struct arm_setup *setup, int timeout_ms)
{
	int rc = nursery_pump(setup->nursery, timeout_ms);

	return rc ? rc : all_live(setup);
}

static int pause_ms(const struct arm_setup *setup, unsigned ms)
{
	uint64_t end = clock_ns() + ms * MS;
	uint64_t now;
	int rc = 0;

	while (rc == 0 && (now = clock_ns()) < end)
		rc = pump(setup, (int)((end - now) / MS) + 1);
	return rc;
}

static int read_totals(const json_t *status, struct totals *out)
{
	json_t *detection, *holdover, *suspend, *resume;

	if (json_unpack((json_t *)status, "{s:{s:I,s:I,s:o,s:o,s:o,s:o}}", "totals", "suspends",
			&out->suspends, "resumes", &out->resumes, "detection_ns", &detection,
			"holdover_ns", &holdover, "suspend_ns", &suspend, "resume_ns", &resume) ||
	    hist_from_json(detection, &out->detection) ||
	    hist_from_json(holdover, &out->holdover) || hist_from_json(suspend, &out->suspend) ||
	    hist_from_json(resume, &out->resume)) {
		progress_note("kfdschedd's answer has no totals as docs/formats.md tells");
		return -EPROTO;
	}
	return 0;
}

/* A daemon that does not answer has often just ended: that says more. */
static int no_answer(const struct arm_setup *setup, int error)
{
	int rc = pause_ms(setup, 200);

	if (rc)
		return rc;
	progress_note("trap: kfdschedd does not answer: %s", strerror(-error));
	return error;
}

static int ask_totals(const struct window *window, struct totals *out)
{
	json_t *status;
	int rc = ask_daemon(window->socket, 0, &status);

	if (rc)
		return no_answer(window->setup, rc);
	rc = read_totals(status, out);
	json_decref(status);
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

static int start_client(struct window *window, struct client *client, const char *trace, bool open)
{
	const struct arm_setup *setup = window->setup;
	char name[48], priority[64], socket[PATH_MAX], seed[16];
	const char *argv[18] = {setup->replay,	"--trace", trace,	"--seconds",
				setup->seconds, "--json",  client->json};
	const char *environment[] = {FORGET, NULL, NULL, NULL};
	size_t n = 7;

	if (open) {
		/* The same arrivals in every arm. */
		const char *const more[] = {"--arrivals", setup->arrivals, "--seed",
					    seed,	  setup->pace[0],  setup->pace[1]};
		const char *const times[] = {"--request-times", client->times};

		snprintf(seed, sizeof(seed), "%u", setup->seed);
		memcpy(argv + n, more, sizeof(more));
		if (window->arm == ARM_ALONE)
			memcpy(argv + n + sizeof(more) / sizeof(more[0]), times, sizeof(times));
	} else {
		argv[n] = "--closed";
	}
	if (window->socket) {
		size_t last = sizeof(environment) / sizeof(environment[0]) - 3;

		snprintf(priority, sizeof(priority), "KFDSHIM_PRIORITY=%s", client->role);
		snprintf(socket, sizeof(socket), "KFDSHIM_SOCKET=%s", window->socket);
		environment[last] = priority;
		environment[last + 1] = socket;
	}
	snprintf(client->json, sizeof(client->json), "%s/%s-%s.json", setup->folder,
		 arm_names[window->arm], client->role);
	snprintf(client->times, sizeof(client->times), "%s/times.csv", setup->folder);
	snprintf(name, sizeof(name), "%s: %s kfdreplay", arm_names[window->arm], client->role);
	client->child =
		nursery_start(setup->nursery, &(struct child_spec){
						      .name = name,
						      .argv = argv,
						      .environment = environment,
						      .shim = window->socket ? setup->shim : NULL,
						      .sync = true,
						      .death_signal = SIGKILL,
					      });
	if (client->child)
		return 0;
	progress_note("cannot start %s: %m", name);
	return -ECHILD;
}

static int wait_ready(const struct window *window, const struct child *child)
{
	uint64_t end = clock_ns() + READY_MS * MS;

	progress_live("%s: starting", window->name);
	while (!child->is_ready) {
		int rc = pump(window->setup, 100);

		if (rc)
			return rc;
		if (clock_ns() > end) {
			progress_note("%s was not ready within %d s", child->name, READY_MS / 1000);
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static const json_t *process_of(const json_t *status, pid_t pid)
{
	json_t *process;
	size_t i;

	json_array_foreach(json_object_get(status, "processes"), i,
			   process) if (json_integer_value(json_object_get(process, "pid")) ==
					pid) return process;
	return NULL;
}

/* Until the daemon can suspend the offline client for the online one. That it
 * cannot is a finding, not an error: the arm then shows no suspends. */
static int wait_registered(const struct window *window)
{
	const char *disabled = getenv("KFDSHIM_DISABLE");
	uint64_t end = clock_ns() + REGISTERED_MS * MS;
	char reason[160] = "they did not register";

	if (disabled && strcmp(disabled, "1") == 0) {
		progress_note("%s: KFDSHIM_DISABLE=1, so nothing will be suspended", window->name);
		return 0;
	}
	progress_live("%s: waiting until both clients are registered", window->name);
	while (clock_ns() < end) {
		json_t *status;
		int rc = ask_daemon(window->socket, 0, &status);

		if (rc == 0) {
			const json_t *online = process_of(status, window->online.child->pid);
			const json_t *offline = process_of(status, window->offline.child->pid);
			bool trap = strcmp(field_text(offline, "level"), "trap") == 0;

			if (offline && !trap)
				snprintf(reason, sizeof(reason), "offline is at level %s: %s",
					 field_text(offline, "level"),
					 field_text(offline, "reason"));
			json_decref(status);
			if (online && trap)
				return 0;
		}
		rc = pause_ms(window->setup, 50);
		if (rc)
			return rc;
	}
	progress_note("%s: going on, but the clients cannot be scheduled: %s", window->name,
		      reason);
	return 0;
}

static int go(struct client *client)
{
	int rc = client->child ? child_go(client->child) : 0;

	if (rc)
		progress_note("%s cannot be told to begin: %s", client->child->name, strerror(-rc));
	return rc;
}

/* For how long the daemon has held the offline client over; NAN: that is not known. */
static double held_over_us(const struct window *window)
{
	json_t *status;
	double us;

	if (!window->socket)
		return 0;
	if (ask_daemon(window->socket, 0, &status))
		return NAN;
	us = field_number(
		json_object_get(process_of(status, window->offline.child->pid), "time_us"),
		"held_over");
	json_decref(status);
	return us;
}

static void read_time(const struct window *window, const struct colocation *run,
		      struct time_reading *out)
{
	pid_t pid;

	out->n_gpus = 0;
	if (!window->offline.child)
		return;
	out->wall_ns = clock_ns();
	out->held_over_us = held_over_us(window);
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
	int rc = go(&window->online);

	if (rc == 0)
		rc = go(&window->offline);
	for (unsigned i = 0; rc == 0 && i < 3; i++) {
		rc = run_until(window, start, run->seconds, until[i]);
		if (rc == 0 && i < 2)
			read_time(window, run, &window->time[i]);
	}
	return rc;
}

static int client_done(const struct window *window, const struct client *client, json_t **out)
{
	const struct child *child = client->child;
	uint64_t end = clock_ns() + LEAVE_MS * MS;
	json_error_t error;

	while (!child->ended) {
		int rc = nursery_pump(window->setup->nursery, 100);

		if (rc)
			return rc;
		if (clock_ns() > end) {
			progress_note("%s has not ended %d s after its time", child->name,
				      LEAVE_MS / 1000);
			return -ETIMEDOUT;
		}
	}
	if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0)
		return child_failed(child);
	*out = json_load_file(client->json, 0, &error);
	if (*out)
		return 0;
	progress_note("%s left no readable JSON: %s", child->name, error.text);
	return -EINVAL;
}

/* The times of one seed's requests, where nothing else ran. */
static int take_requests(const struct window *window, struct colocation *run)
{
	struct request_list *list = &run->requests[window->setup->seed - 1];
	int rc;

	if (window->arm != ARM_ALONE)
		return 0;
	request_list_free(list);
	rc = request_list_read(window->online.times, list);
	if (rc)
		progress_note("%s: kfdreplay's times of requests cannot be read: %s", window->name,
			      strerror(-rc));
	return rc;
}

static int take_figures(const struct window *window, struct colocation *run)
{
	struct arm_figures *figures = &run->arms[window->arm];
	json_t *replay = NULL;
	int rc = 0;

	progress_live("%s: ending", window->name);
	if (window->online.child) {
		rc = client_done(window, &window->online, &replay);
		if (rc)
			return rc;
		rc = result_online(replay, &figures->online);
		json_decref(replay);
		if (rc == 0 && (rc = take_requests(window, run)) != 0)
			return rc;
	}
	if (rc == 0 && window->offline.child) {
		rc = client_done(window, &window->offline, &replay);
		if (rc)
			return rc;
		rc = result_offline(replay, &figures->offline);
		json_decref(replay);
	}
	if (rc)
		progress_note("%s: kfdreplay's JSON is not as docs/formats.md tells", window->name);
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
	rc = window->socket ? wait_registered(window) : 0;
	/* What start-up charged has to be in the file before it is read. */
	if (rc == 0)
		rc = pause_ms(window->setup, SIMULATION_LAG_MS + 50);
	if (rc == 0)
		rc = read_simulation(run, &before);
	if (rc == 0 && window->socket)
		rc = ask_totals(window, &totals[0]);
	if (rc == 0)
		rc = run_window(window, run);
	if (rc == 0 && window->socket)
		rc = ask_totals(window, &totals[1]);
	if (rc == 0)
		rc = read_simulation(run, &after);
	if (rc == 0)
		rc = take_figures(window, run);
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
		rc = start_client(&window, &window.online, setup->online, true);
	if (rc == 0 && online)
		rc = wait_ready(&window, window.online.child);
	if (rc == 0 && offline)
		rc = start_client(&window, &window.offline, setup->offline, false);
	if (rc == 0 && offline)
		rc = wait_ready(&window, window.offline.child);
	if (rc == 0)
		rc = measure(&window, run);
	return rc;
}

/* `path`: of the daemon's configuration. */
static int make_config(const struct arm_setup *setup, double time_scale, char path[PATH_MAX])
{
	FILE *file;

	if (setup->config) {
		snprintf(path, PATH_MAX, "%s", setup->config);
		return 0;
	}
	snprintf(path, PATH_MAX, "%s/kfdschedd.conf", setup->folder);
	file = fopen(path, "we");
	if (!file ||
	    fprintf(file, "[scheduler]\nslow_suspend_us = %.0f\n", SLOW_SUSPEND_US / time_scale) <
		    0 ||
	    fclose(file)) {
		progress_note("cannot write %s: %m", path);
		return -EIO;
	}
	return 0;
}

static int start_daemon(const struct arm_setup *setup, const char *socket, double time_scale)
{
	char config[PATH_MAX];
	const char *const argv[] = {setup->daemon, "--foreground", "--socket", socket,
				    "--config",	   config,	   NULL};
	const char *const environment[] = {FORGET, NULL};
	uint64_t end = clock_ns() + DAEMON_MS * MS;
	json_t *status;
	int made = make_config(setup, time_scale, config);

	if (made)
		return made;
	if (!nursery_start(setup->nursery, &(struct child_spec){
						   .name = "trap: kfdschedd",
						   .argv = argv,
						   .environment = environment,
						   .death_signal = SIGTERM,
					   })) {
		progress_note("cannot start %s: %m", setup->daemon);
		return -ECHILD;
	}
	progress_live("trap: waiting for kfdschedd");
	while (clock_ns() < end) {
		int rc = pause_ms(setup, 20);

		if (rc)
			return rc;
		rc = ask_daemon(socket, 0, &status);
		if (rc == 0) {
			json_decref(status);
			return 0;
		}
		if (rc != -ENOENT && rc != -ECONNREFUSED && rc != -EAGAIN)
			return no_answer(setup, rc);
	}
	progress_note("trap: kfdschedd did not answer within %d s", DAEMON_MS / 1000);
	return -ETIMEDOUT;
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
		rc = start_daemon(setup, socket, out->time_scale);
		if (rc == 0)
			rc = run_clients(setup, arm, "trap", true, true, socket, out);
	}
	progress_clear();
	nursery_empty(setup->nursery);
	out->arms[arm].ran = rc == 0;
	return rc;
}
