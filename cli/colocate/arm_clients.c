// SPDX-License-Identifier: MIT
/* Starts the clients of a measured window, makes them begin, and reads their results. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/colocate/arm.h"
#include "cli/output/progress.h"
#include "common/clock.h"

/* Limit until a client is ready: loading a runtime on a simulated driver is slow. */
#define READY_MS 60000
#define LEAVE_MS 60000 /* from the end of the window until a client has ended */

void arm_add_clients(struct window *window, bool open, unsigned from, unsigned count)
{
	const struct client_set *set = open ? window->setup->online : window->setup->offline;
	const char *kind = open ? "online" : "offline";

	for (unsigned i = from; i < from + count; i++) {
		struct arm_client *client = &window->clients[window->count++];

		*client = (struct arm_client){
			.open = open, .index = i, .trace = set->traces[i], .group = set->groups[i]};
		if (set->count == 1)
			snprintf(client->name, sizeof(client->name), "%s", kind);
		else
			snprintf(client->name, sizeof(client->name), "%s%u", kind, i + 1);
	}
}

unsigned arm_offline_pids(const struct window *window, pid_t pids[RESULT_CLIENTS_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < window->count; i++) {
		if (window->clients[i].open)
			continue;
		if (pids)
			pids[n] = window->clients[i].child->pid;
		n++;
	}
	return n;
}

/* Returns true if kfdreplay has to record the time of each request of the client:
 * - in ARM_ALONE, because the possible gain is computed from these times (result.h);
 * - with several online clients, because their percentiles are those of all requests together. */
static bool keeps_times(const struct window *window, const struct arm_client *client)
{
	return client->open && (window->arm == ARM_ALONE || window->setup->online->count > 1);
}

/* Builds the path of an output file of the client's kfdreplay. `what`: "json" or "csv". */
static void output_path(const struct window *window, const struct arm_client *client,
			const char *what, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s-%s.%s", window->setup->directory,
		 arm_kinds[window->arm].name, client->name, what);
}

/* Starts the client's kfdreplay. In an arm with the shim the client gets the shim, its priority,
 * group and level, and the socket (in ARM_PEERS no daemon listens there). In the other arms it
 * inherits none of the variables by which a client is scheduled. */
static int spawn(const struct window *window, struct arm_client *client, const char *const *argv)
{
	const struct arm_setup *setup = window->setup;
	const struct arm_kind *kind = &arm_kinds[window->arm];
	char name[48], priority[32], level[32], socket[PATH_MAX], directory[PATH_MAX], group[128];
	const char *environment[] = {FORGET, NULL, NULL, NULL, NULL, NULL, NULL};
	size_t n = sizeof(environment) / sizeof(environment[0]) - 6;

	snprintf(name, sizeof(name), "%s: %s kfdreplay", kind->name, client->name);
	if (kind->level) {
		snprintf(priority, sizeof(priority), "KFDSHIM_PRIORITY=%s",
			 client->open ? "online" : "offline");
		snprintf(socket, sizeof(socket), "KFDSHIM_SOCKET=%s/socket", setup->directory);
		environment[n++] = priority;
		environment[n++] = socket;
	}
	if (kind->level_setting && !client->open) {
		snprintf(level, sizeof(level), "KFDSHIM_LEVEL=%s", kind->level_setting);
		environment[n++] = level;
	}
	if (kind->level && !kind->daemon) {
		snprintf(directory, sizeof(directory), "XDG_RUNTIME_DIR=%s", setup->directory);
		environment[n++] = directory;
	}
	if (kind->level && client->group) {
		snprintf(group, sizeof(group), "KFDSHIM_GROUP=%s", client->group);
		environment[n++] = group;
	}
	client->child = process_group_start(setup->children,
					    &(struct child_spec){
						    .name = name,
						    .argv = argv,
						    .environment = environment,
						    .shim = kind->level ? setup->shim : NULL,
						    .sync = true,
						    .death_signal = SIGKILL,
					    });
	if (client->child)
		return 0;
	progress_note("cannot start %s: %m", name);
	return -ECHILD;
}

/* Builds the arguments of the client's kfdreplay and starts it. */
static int start_client(const struct window *window, struct arm_client *client)
{
	const struct arm_setup *setup = window->setup;
	char seed[16], json[PATH_MAX], times[PATH_MAX];
	const char *argv[18] = {setup->replay,	"--trace", client->trace, "--seconds",
				setup->seconds, "--json",  json};
	size_t n = 7;

	output_path(window, client, "json", json);
	output_path(window, client, "csv", times);
	/* A seed gives the same arrivals in every arm, but different ones for each client. */
	snprintf(seed, sizeof(seed), "%u", setup->seed + RESULT_SEEDS_MAX * client->index);
	if (client->open) {
		const char *const more[] = {"--arrivals", setup->arrivals, "--seed",
					    seed,	  setup->pace[0],  setup->pace[1]};

		memcpy(argv + n, more, sizeof(more));
		n += sizeof(more) / sizeof(more[0]);
	} else {
		argv[n++] = "--closed";
	}
	if (keeps_times(window, client)) {
		argv[n++] = "--request-times";
		argv[n++] = times;
	}
	return spawn(window, client, argv);
}

/* Waits until the client has loaded its runtime and its trace, and has reported that it is
 * ready. */
static int wait_ready(const struct window *window, const struct subprocess *child)
{
	uint64_t end = clock_ns() + READY_MS * MS;

	progress_live("%s: starting", window->name);
	while (!child->is_ready) {
		int rc = arm_pump(window->setup, 100);

		if (rc)
			return rc;
		if (clock_ns() > end) {
			progress_note("%s was not ready within %d s", child->name, READY_MS / 1000);
			return -ETIMEDOUT;
		}
	}
	return 0;
}

int arm_start_clients(struct window *window)
{
	int rc = 0;

	/* Start one client at a time, so that their order does not depend on timing. */
	for (unsigned i = 0; rc == 0 && i < window->count; i++) {
		rc = start_client(window, &window->clients[i]);
		if (rc == 0)
			rc = wait_ready(window, window->clients[i].child);
	}
	return rc;
}

int arm_go(const struct window *window)
{
	for (unsigned i = 0; i < window->count; i++) {
		struct subprocess *child = window->clients[i].child;
		int rc = child_go(child);

		if (rc) {
			progress_note("%s: cannot send it the start signal: %s", child->name,
				      strerror(-rc));
			return rc;
		}
	}
	return 0;
}

/* Waits until the client has ended, and parses the JSON that it has written. */
static int client_done(const struct window *window, const struct arm_client *client, json_t **out)
{
	const struct subprocess *child = client->child;
	uint64_t end = clock_ns() + LEAVE_MS * MS;
	char path[PATH_MAX];
	json_error_t error;

	while (!child->ended) {
		int rc = process_group_pump(window->setup->children, 100);

		if (rc)
			return rc;
		if (clock_ns() > end) {
			progress_note("%s has not ended within %d s after its time", child->name,
				      LEAVE_MS / 1000);
			return -ETIMEDOUT;
		}
	}
	if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0)
		return arm_child_failed(child);
	output_path(window, client, "json", path);
	*out = json_load_file(path, 0, &error);
	if (*out)
		return 0;
	progress_note("%s left no readable JSON: %s", child->name, error.text);
	return -EINVAL;
}

/* Reads the times of the client's requests, if it has recorded them. */
static int take_requests(struct window *window, const struct arm_client *client)
{
	char path[PATH_MAX];
	int rc;

	if (!keeps_times(window, client))
		return 0;
	output_path(window, client, "csv", path);
	rc = request_list_read(path, &window->requests[client->index]);
	if (rc)
		progress_note("%s: kfdreplay's times of requests cannot be read: %s", window->name,
			      strerror(-rc));
	return rc;
}

/* Waits for the client's end and reads its results. */
static int take_client(struct window *window, const struct arm_client *client,
		       struct arm_stats *stats)
{
	json_t *replay = NULL;
	int rc = client_done(window, client, &replay);

	if (rc)
		return rc;
	rc = client->open ? result_online(replay, &stats->online_of[client->index])
			  : result_offline(replay, &stats->offline_of[client->index]);
	json_decref(replay);
	if (rc == 0)
		return take_requests(window, client);
	progress_note("%s: kfdreplay's JSON does not match docs/reference/kfdreplay.md",
		      window->name);
	return rc;
}

int arm_set_stats(struct window *window, struct colocation *run)
{
	int rc = 0;

	progress_live("%s: ending", window->name);
	for (unsigned i = 0; rc == 0 && i < window->count; i++)
		rc = take_client(window, &window->clients[i], &run->arms[window->arm]);
	return rc;
}

/* ---- clients without a daemon, detected by the files of their shims (shim/links/peers.h) ---- */

/* Returns true if the directory has the file "PID-START.lane", the shared memory of process
 * `pid`. */
static bool has_shm(DIR *directory, pid_t pid)
{
	struct dirent *entry;

	rewinddir(directory);
	while ((entry = readdir(directory))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);
		const char *dot = strrchr(end, '.');

		if (number == pid && *end == '-' && dot && strcmp(dot, ".lane") == 0)
			return true;
	}
	return false;
}

bool arm_peers_met(const struct window *window, char *reason, size_t size)
{
	char path[PATH_MAX];
	const struct arm_client *missing = NULL;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/" ARM_PEERS_DIR, window->setup->directory);
	directory = opendir(path);
	for (unsigned i = 0; !missing && i < window->count; i++)
		if (!directory || !has_shm(directory, window->clients[i].child->pid))
			missing = &window->clients[i];
	if (directory)
		closedir(directory);
	if (missing)
		snprintf(reason, size, "%s has no file in the directory of the arm", missing->name);
	return !missing;
}
