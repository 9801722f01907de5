// SPDX-License-Identifier: MIT
/* Starts and queries the private daemon of an arm. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/colocate/arm.h"
#include "cli/inspect/sources.h"
#include "cli/output/progress.h"
#include "cli/util/daemon_query.h"
#include "common/clock.h"
#include "common/json_util.h"

#define DAEMON_MS 10000	   /* until kfdschedd replies */
#define REGISTERED_MS 5000 /* until all clients can be scheduled */
/* The daemon's default of slow_suspend_us, wall time at time scale 1. The daemon stops suspending a
 * process after three suspends in a row that were slower than this limit. At time scale s a suspend
 * takes 1/s times as long in wall time, so the limit is divided by s. */
#define SLOW_SUSPEND_US 50000.0

/* Reads the totals from the daemon's reply. */
static int read_totals(const json_t *status, struct arm_totals *out)
{
	json_t *detection, *holdover, *suspend, *resume;

	if (json_unpack((json_t *)status, "{s:{s:I,s:I,s:o,s:o,s:o,s:o}}", "totals", "suspends",
			&out->suspends, "resumes", &out->resumes, "detection_ns", &detection,
			"holdover_ns", &holdover, "suspend_ns", &suspend, "resume_ns", &resume) ||
	    hist_from_json(detection, &out->detection) ||
	    hist_from_json(holdover, &out->holdover) || hist_from_json(suspend, &out->suspend) ||
	    hist_from_json(resume, &out->resume)) {
		progress_note("kfdschedd's reply does not match docs/reference/status.md: it has "
			      "no totals");
		return -EPROTO;
	}
	return 0;
}

/* Reports that the daemon does not reply. Waits a moment first, because a daemon that does not
 * reply has often just ended, and arm_pause_ms() then reports its exit code, which is more
 * useful. */
static int no_reply(const struct window *window, int error)
{
	int rc = arm_pause_ms(window->setup, 200);

	if (rc)
		return rc;
	progress_note("%s: kfdschedd does not reply: %s", arm_kinds[window->arm].name,
		      strerror(-error));
	return error;
}

int arm_query_totals(const struct window *window, struct arm_totals *out)
{
	json_t *status;
	int rc = query_daemon(window->socket, 0, &status);

	if (rc)
		return no_reply(window, rc);
	rc = read_totals(status, out);
	json_decref(status);
	return rc;
}

/* Returns true if the daemon knows every client and reports the arm's level for each offline
 * client. Otherwise writes into `reason` why an offline client has another level, if the daemon has
 * reported why. */
static bool all_registered(const struct window *window, const json_t *status, char *reason,
			   size_t size)
{
	for (unsigned i = 0; i < window->count; i++) {
		const struct arm_client *client = &window->clients[i];
		const json_t *process = source_daemon_process(status, false, client->child->pid);
		bool there =
			strcmp(field_text(process, "level"), arm_kinds[window->arm].level) == 0;

		if (process && !client->open && !there)
			snprintf(reason, size, "%s is at level %s: %s", client->name,
				 field_text(process, "level"), field_text(process, "reason"));
		if (!process || (!client->open && !there))
			return false;
	}
	return true;
}

/* Returns true if all clients can be scheduled: all_registered(), or in ARM_PEERS, which has no
 * daemon, their shims share a directory. Otherwise writes the `reason`. */
static bool all_there(const struct window *window, char *reason, size_t size)
{
	json_t *status;
	bool all;

	if (!window->socket)
		return arm_peers_met(window, reason, size);
	if (query_daemon(window->socket, 0, &status))
		return false;
	all = all_registered(window, status, reason, size);
	json_decref(status);
	return all;
}

int arm_wait_registered(const struct window *window, const char **level)
{
	const char *disabled = getenv("KFDSHIM_DISABLE");
	uint64_t end = clock_ns() + REGISTERED_MS * MS;
	char reason[160] = "they did not register";

	/* No client will register if the user has disabled the shim. */
	if (disabled && strcmp(disabled, "1") == 0) {
		progress_note("%s: KFDSHIM_DISABLE=1 is set, so no process will be suspended",
			      window->name);
		return 0;
	}
	progress_live("%s: waiting until all clients are registered", window->name);
	while (clock_ns() < end) {
		int rc;

		if (all_there(window, reason, sizeof(reason))) {
			*level = window->socket ? arm_kinds[window->arm].level : NULL;
			return 0;
		}
		rc = arm_pause_ms(window->setup, 50);
		if (rc)
			return rc;
	}
	progress_note("%s: continuing, although the clients cannot be scheduled: %s", window->name,
		      reason);
	return 0;
}

double arm_held_over_us(const struct window *window)
{
	double us = 0;
	unsigned n = 0;
	json_t *status;

	if (!window->socket)
		return 0;
	/* If the query fails, return NAN: only this time is unknown, and the measurement
	 * continues. */
	if (query_daemon(window->socket, 0, &status))
		return NAN;
	for (unsigned i = 0; i < window->count; i++) {
		const struct arm_client *client = &window->clients[i];

		if (client->open)
			continue;
		us += field_number(
			json_object_get(source_daemon_process(status, false, client->child->pid),
					"time_us"),
			"held_over");
		n++;
	}
	json_decref(status);
	return us / n;
}

/* Writes the path of the daemon's configuration into `path`: the user's file, or one that is made
 * here with slow_suspend_us for the time scale. */
static int make_config(const struct arm_setup *setup, double time_scale, char path[PATH_MAX])
{
	FILE *file;

	if (setup->config) {
		snprintf(path, PATH_MAX, "%s", setup->config);
		return 0;
	}
	snprintf(path, PATH_MAX, "%s/kfdschedd.conf", setup->directory);
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

int arm_start_daemon(const struct window *window, double time_scale)
{
	const struct arm_setup *setup = window->setup;
	const char *arm = arm_kinds[window->arm].name;
	char config[PATH_MAX], name[48];
	const char *const argv[] = {setup->daemon, "--foreground", "--socket", window->socket,
				    "--config",	   config,	   NULL};
	const char *const environment[] = {FORGET, NULL};
	uint64_t end = clock_ns() + DAEMON_MS * MS;
	json_t *status;
	int made = make_config(setup, time_scale, config);

	if (made)
		return made;
	snprintf(name, sizeof(name), "%s: kfdschedd", arm);
	if (!process_group_start(setup->children, &(struct child_spec){
							  .name = name,
							  .argv = argv,
							  .environment = environment,
							  .death_signal = SIGTERM,
						  })) {
		progress_note("cannot start %s: %m", setup->daemon);
		return -ECHILD;
	}
	progress_live("%s: waiting for kfdschedd", arm);
	while (clock_ns() < end) {
		int rc = arm_pause_ms(setup, 20);

		if (rc)
			return rc;
		rc = query_daemon(window->socket, 0, &status);
		if (rc == 0) {
			json_decref(status);
			return 0;
		}
		/* Its socket does not exist yet, or nothing listens there yet: try again. */
		if (rc != -ENOENT && rc != -ECONNREFUSED && rc != -EAGAIN)
			return no_reply(window, rc);
	}
	progress_note("%s: kfdschedd did not reply within %d s", arm, DAEMON_MS / 1000);
	return -ETIMEDOUT;
}
