// SPDX-License-Identifier: MIT
/* kfdsched watch: waits for a new GPU process and monitors it. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output/progress.h"
#include "cli/record/record.h"
#include "cli/util/interrupt.h"
#include "cli/util/objects.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/json_util.h"

#define MOST_US (7 * 86400e6)
#define INTERVAL_MIN_US 10e3
#define PATTERN 256
#define COMMAND 120	 /* longest command in a line, in bytes */
#define LINES_AT_MOST 8u /* maximum of lines about processes that use a GPU already */
/* Maximum number of processes that are monitored at the same time. One of the SAMPLE_TASKS tasks is
 * the search for new processes. */
#define MONITORS (SAMPLE_TASKS - 1)

/* A process that is not new, because it was found before. */
struct known_process {
	pid_t pid;
	uint64_t started;
};

struct watch_state {
	/* Command line. */
	const char *container, *socket;
	char pattern[PATTERN]; /* for fnmatch(3), against command line and name; empty: any */
	int pid;	       /* 0: any */
	bool all, json;
	double timeout_s, interval_us, seconds;

	struct process_identity target; /* the process that `pid` names */
	struct container_names *names;
	struct snapshot_reader *reader;
	struct known_process *known;
	size_t known_count, known_room;
	size_t found;
	struct sample_task search; /* searches for new processes */
	struct sample_loop loop;
};

/* ---- matching ---- */

static bool is_known(const struct watch_state *w, const struct process_identity *identity)
{
	for (size_t i = 0; i < w->known_count; i++)
		if (w->known[i].pid == identity->pid && w->known[i].started == identity->started)
			return true;
	return false;
}

static void remember(struct watch_state *w, const struct process_identity *identity)
{
	w->known = allocate_next(w->known, w->known_count, &w->known_room, sizeof(*w->known));
	w->known[w->known_count++] =
		(struct known_process){.pid = identity->pid, .started = identity->started};
}

static bool is_meant(const struct watch_state *w, const struct process_identity *identity)
{
	if (w->pid && identity->pid != w->pid)
		return false;
	return !w->pattern[0] || fnmatch(w->pattern, identity->command, 0) == 0 ||
	       fnmatch(w->pattern, identity->comm, 0) == 0;
}

/* Returns the processes that use a GPU, or NULL after one line on stderr. */
static const struct snapshot *read_processes(struct watch_state *w)
{
	const struct snapshot_request request = {
		.scope = SNAPSHOT_SEARCH, .container = w->container, .names = w->names};

	return select_read(&cmd_watch, w->reader, &request);
}

/* Remembers the processes that use a GPU already, so that they are not reported as new. With --pid
 * none is remembered, because the named process is monitored even if it uses a GPU already. Returns
 * CLI_GO_ON or CLI_FAILED. */
static int begin(struct watch_state *w)
{
	const struct snapshot *snapshot = read_processes(w);
	size_t printed = 0;

	if (!snapshot)
		return CLI_FAILED;
	for (size_t i = 0; i < snapshot->count; i++) {
		const struct process_identity *identity = &snapshot->processes[i]->identity;

		if (w->pid)
			break;
		remember(w, identity);
		if (is_meant(w, identity) && printed++ < LINES_AT_MOST)
			fprintf(stderr,
				"kfdsched watch: process %d (%s) already uses a GPU, and is "
				"ignored\n",
				(int)identity->pid, identity->comm);
	}
	if (printed > LINES_AT_MOST)
		fprintf(stderr, "kfdsched watch: %zu more processes already use a GPU\n",
			printed - LINES_AT_MOST);
	select_warn_hidden(&cmd_watch, snapshot);
	return CLI_GO_ON;
}

/* ---- a new one ---- */

static double seconds_since(const struct watch_state *w)
{
	return (double)((clock_ns() - w->search.began_ns) / 1000000) / 1e3;
}

/* Reports a new process: one line, or a JSON object. */
static void announce(const struct watch_state *w, const struct process_identity *identity)
{
	char text[SELECTED_TEXT];
	json_t *json = render_json(fields_process, identity);

	progress_clear();
	if (w->json) {
		json_t *found =
			json_pack("{s:s, s:f}", "kind", "found", "seconds", seconds_since(w));

		json_object_update_new(found, json);
		render_print(found, JSON_COMPACT | JSON_REAL_PRECISION(9));
	} else {
		json_object_set_new(json, "container",
				    plain_json(selected_container(text, &identity->container)));
		json_object_set_new(json, "name", plain_json(identity->container.name));
		json_object_set_new(json, "command",
				    plain_json(selected_command(text, identity, COMMAND)));
		render_text(stdout,
			    "new GPU process: host pid {host_pid}, container pid {container_pid}, "
			    "container {container}[ ({name})], {command}\n",
			    json);
		json_decref(json);
	}
	fflush(stdout);
}

/* Reports a new process and begins to monitor it. */
static void follow(struct watch_state *w, struct process_identity *identity)
{
	const struct monitor_options options = {
		.pid = identity->pid,
		.seconds = w->seconds,
		.interval_us = w->interval_us,
		.socket = w->socket,
		.json = w->json,
		.one_line = true,
		.labelled = w->all,
	};

	container_names_query(w->names, &identity->container);
	announce(w, identity);
	w->found++;
	if (!w->all)
		w->search.over = true;
	monitor_open(&cmd_watch, &options, &w->loop);
}

/* Searches for GPU processes that are new, and begins to monitor them. Returns CLI_GO_ON or
 * CLI_FAILED. */
static int inspect(struct watch_state *w)
{
	const struct snapshot *snapshot;

	container_names_retry(w->names);
	snapshot = read_processes(w);
	if (!snapshot)
		return CLI_FAILED;
	for (size_t i = 0; !w->search.over && i < snapshot->count; i++) {
		struct process_identity *identity = &snapshot->processes[i]->identity;

		if (is_known(w, identity) || !is_meant(w, identity))
			continue;
		if (w->loop.count > MONITORS) {
			progress_clear();
			fprintf(stderr,
				"kfdsched watch: process %d (%s) is not monitored: the limit is %u "
				"processes\n",
				(int)identity->pid, identity->comm, MONITORS);
			remember(w, identity);
			continue;
		}
		remember(w, identity);
		follow(w, identity);
	}
	return CLI_GO_ON;
}

/* ---- main loop ---- */

/* Called at each interval until the timeout; searches once per call. Ends the search after an
 * error, or when the process that --pid names has ended. Without --all, follow() ends the search at
 * the first new process. */
static void search(void *context)
{
	struct watch_state *w = context;
	int code = inspect(w);

	if (code != CLI_GO_ON)
		w->loop.code = code;
	if (code != CLI_GO_ON || (w->pid && !process_is(&w->target)))
		w->search.over = true;
	else if (w->loop.count == 1)
		progress_live("waiting for a GPU process: %.0f of %.0f s", seconds_since(w),
			      w->timeout_s);
}

/* Reports that no new process has used a GPU. Returns CLI_FAILED. */
static int is_unused(const struct watch_state *w)
{
	const char *problem = w->container ? container_names_problem(w->names) : "";
	const char *container = w->container ? w->container : "";

	progress_clear();
	if (w->pid && !process_is(&w->target))
		return cli_failed(&cmd_watch, "process %d (%s) has ended without using a GPU",
				  w->pid, w->target.comm);
	if (w->pid)
		return cli_failed(&cmd_watch, "process %d (%s) did not use a GPU within %.3g s",
				  w->pid, w->target.comm, seconds_since(w));
	return cli_failed(&cmd_watch, "no new GPU process%s%s within %.3g s%s%s%s%s",
			  container[0] ? " in container " : "", container, seconds_since(w),
			  problem[0] ? " (" : "", problem, problem[0] ? ")" : "",
			  stop_requested() ? "" : ": use a longer --timeout");
}

/* Searches for processes until the timeout, and runs the monitors until all of them have ended. The
 * search interval is shortened so that the last search is at the timeout. Returns the exit code. */
static int run_loop(struct watch_state *w)
{
	double searches = ceil(w->timeout_s * 1e6 / w->interval_us);
	int code;

	sample_task_begin(&w->search, w->timeout_s * 1e6 / searches, search, w);
	w->search.last = (uint64_t)searches;
	w->loop = (struct sample_loop){.tasks = {&w->search}, .count = 1};
	code = sample_loop_run(&w->loop);
	progress_clear();
	return code == CLI_DONE && w->found == 0 ? is_unused(w) : code;
}

static int watch(struct watch_state *w)
{
	int code = w->pid ? select_process(&cmd_watch, w->pid, &w->target) : CLI_GO_ON;

	if (code != CLI_GO_ON)
		return code;
	code = select_needs_gpu(&cmd_watch);
	if (code != CLI_DONE)
		return code;
	if (stop_begin(&cmd_watch))
		return CLI_FAILED;
	code = begin(w);
	if (code != CLI_GO_ON)
		return code;
	fprintf(stderr, "kfdsched watch: waiting for %s to use a GPU, for up to %.3g s\n",
		w->pid ? w->target.comm : "a new process", w->timeout_s);
	return run_loop(w);
}

/* ---- command ---- */

static int run(int argc, char **argv)
{
	struct watch_state w = {.interval_us = 5e6};
	double timeout_us = 300e6, seconds_us = 0;
	const char *name = NULL;
	const struct cli_option options[] = {
		{OPTION_CONTAINER(&w.container)},
		{OPTION_NAME("name", &name, PATTERN - 3, "a pattern of up to 253 bytes")},
		{OPTION_PID("pid", &w.pid)},
		{OPTION_FLAG("all", &w.all)},
		{OPTION_SECONDS("timeout", &timeout_us, 0, MOST_US, "seconds, at most a week")},
		{OPTION_SECONDS("seconds", &seconds_us, 0, MOST_US, "seconds, at most a week")},
		{OPTION_SECONDS("interval", &w.interval_us, INTERVAL_MIN_US, MOST_US,
				"seconds, or a time such as 500ms, of 10ms to a week")},
		{OPTION_JSON(&w.json)},
		{OPTION_SOCKET(&w.socket)},
		{0},
	};
	int code = options_read(&cmd_watch, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	w.timeout_s = timeout_us / 1e6;
	w.seconds = seconds_us / 1e6;
	if (name)
		snprintf(w.pattern, sizeof(w.pattern), "*%s*", name);
	w.names = container_names_new();
	w.reader = snapshot_open(w.socket);
	code = watch(&w);
	snapshot_close(w.reader);
	container_names_free(w.names);
	free(w.known);
	return code;
}

const struct cli_command cmd_watch = {
	.name = "watch",
	.summary = "wait for a new GPU process, also in a container, and monitor it",
	.usage = "[--container NAME|ID] [--name PATTERN] [--pid PID] [--all] [--timeout 300] "
		 "[--interval 5] [--seconds S] [--json]",
	.help = "Waits until a process begins to use a GPU, prints its pid on the host and in its container\n"
		"and its command, and then monitors it (kfdsched help monitor) until it ends. Processes that\n"
		"already use a GPU are listed and ignored. Ctrl-C ends it and prints the result so far. No\n"
		"process is stopped or traced.\n"
		"\n"
		"  --container X  only in that container: its name, the beginning of its id (4 digits), or\n"
		"                 the uid of its pod (kfdsched help pidmap)\n"
		"  --name PATTERN only a process whose name or command contains this; *, ? and [...] as in\n"
		"                 a shell\n"
		"  --pid PID      this process, even if it already uses a GPU\n"
		"  --all          every new process, several at once, until --timeout\n"
		"  --timeout 300  seconds to wait for a process; if there is none, the exit code is 1\n"
		"  --interval 5   interval of searches and samples: seconds, or a time such as 500ms; a\n"
		"                 process that begins and ends in between is not found\n"
		"  --seconds S    monitors for this time; default until the process ends\n"
		"  --json         one object per line: the process found, and at its end the result of\n"
		"                 monitor\n" HELP_SOCKET "\n"
		"Examples:\n"
		"  kfdsched watch --container vllm --interval 1\n"
		"  kfdsched watch --all --name 'python*train' --seconds 60 --json\n",
	.run = run,
};
