// SPDX-License-Identifier: MIT
#include "cli/top/collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect/sources.h"
#include "cli/top/collect_debugfs.h"
#include "cli/top/collect_driver.h"
#include "cli/top/collect_names.h"
#include "common/clock.h"
#include "include/kfdsched.h"

/* Each query of a daemon that does not reply waits for two seconds. So it is not queried again for
 * this time. */
#define PATIENCE_NS 5000000000u /* 5 s */

struct gatherer {
	struct kfdsched *daemon;
	uint64_t silent_ns; /* time of the last query without a reply; 0: none */
	const char *socket;
	pid_t queried_worker; /* worker of the daemon for which `elsewhere` is valid */
	bool elsewhere;	      /* the daemon is in another pid namespace */
	struct driver *driver;
	struct command_names *names;
	struct registers *registers;
};

struct gatherer *collect_open(const char *socket)
{
	struct gatherer *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->socket = socket;
	g->daemon = kfdsched_open(socket);
	g->driver = driver_open();
	g->names = names_open();
	g->registers = registers_open();
	if (!g->daemon || !g->driver || !g->names || !g->registers) {
		collect_close(g);
		return NULL;
	}
	return g;
}

void collect_close(struct gatherer *g)
{
	if (!g)
		return;
	kfdsched_close(g->daemon);
	driver_close(g->driver);
	names_close(g->names);
	registers_close(g->registers);
	free(g);
}

/* Add the daemon's data to *out. If the format of a reply is wrong, the part that was already added
 * is removed again. */
static int query_daemon(struct gatherer *g, struct top_state *out)
{
	char *text = NULL;
	json_t *status;
	int rc;

	if (g->silent_ns && out->ns < g->silent_ns + PATIENCE_NS) {
		snprintf(out->why, sizeof(out->why), "%s", kfdsched_errmsg(g->daemon));
		return 0;
	}
	g->silent_ns = 0;
	rc = kfdsched_summary(g->daemon, &text);
	if (rc) {
		snprintf(out->why, sizeof(out->why), "%s", kfdsched_errmsg(g->daemon));
		if (rc == -EAGAIN)
			g->silent_ns = out->ns;
		return 0;
	}
	status = json_loads(text, 0, NULL);
	free(text);
	rc = top_state_from_daemon(status, out);
	json_decref(status);
	if (rc == -EPROTO) {
		uint64_t ns = out->ns;

		top_state_clear(out);
		out->ns = ns;
		snprintf(out->why, sizeof(out->why),
			 "the daemon is not a kfdschedd of this version: use the kfdsched of its "
			 "version");
		rc = 0;
	}
	/* Check this once for each worker, because a process keeps its pid namespace. */
	if (out->by_daemon && out->worker_pid != g->queried_worker) {
		g->elsewhere = source_daemon_counts_otherwise(g->socket);
		g->queried_worker = out->worker_pid;
	}
	out->elsewhere = out->by_daemon && g->elsewhere;
	return rc;
}

int collect_sample(struct gatherer *g, bool registers, struct top_state *out)
{
	int rc;

	top_state_clear(out);
	out->ns = clock_ns();
	rc = query_daemon(g, out);
	if (!rc)
		rc = driver_add(g->driver, out);
	if (!rc)
		rc = out->elsewhere ? 0 : names_add(g->names, out);
	if (!rc && registers && !out->elsewhere)
		rc = registers_add(g->registers, out);
	return rc;
}
