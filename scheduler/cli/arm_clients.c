// SPDX-License-Identifier: MIT
/* The clients of an arm's window: started, begun, and what they say at their end. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "scheduler/cli/arm_window.h"
#include "scheduler/cli/progress.h"

#define READY_MS 60000 /* a runtime that loads on a simulated driver is slow */
#define LEAVE_MS 60000 /* from the end of the window to the end of a client */

int arm_start_client(struct window *window, struct client *client, const char *trace, bool open)
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

int arm_wait_ready(const struct window *window, const struct child *child)
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

int arm_go(struct client *client)
{
	int rc = client->child ? child_go(client->child) : 0;

	if (rc)
		progress_note("%s cannot be told to begin: %s", client->child->name, strerror(-rc));
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
		return arm_child_failed(child);
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

int arm_take_figures(const struct window *window, struct colocation *run)
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
