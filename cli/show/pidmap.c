// SPDX-License-Identifier: MIT
/* kfdsched pidmap: prints the pids of a process on the host, in this pid namespace and in its
 * container. */
#include <stdio.h>
#include <string.h>

#include "cli/util/objects.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/json_util.h"

#define COMMAND 60 /* longest command in a table, in bytes */

struct job {
	int pid; /* 0: all processes; with --container: a pid inside the container */
	bool json;
	const char *container, *socket;
	struct container_names *names;
};

#include "cli/show/pidmap.def"

static json_t *process_json(const struct snapshot_process *process)
{
	json_t *out = render_json(fields_process, &process->identity);

	json_object_set_new(out, "uses_gpu",
			    process->gpu == PROCESS_GPU_UNKNOWN
				    ? json_null()
				    : json_boolean(process->gpu == PROCESS_GPU_YES));
	return out;
}

/* Sets container_pid of the row: the pid in each pid namespace below that of kfdsched, "17", or "17
 * > 1" for nested namespaces. Does nothing if there is no such namespace. */
static void set_inside(json_t *row, const struct process_identity *identity)
{
	char text[PROCESS_NAMESPACES * 16] = "";

	for (unsigned i = 1; i < identity->depth; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d",
			 i > 1 ? " > " : "", (int)identity->pids[i]);
	if (text[0])
		json_object_set_new(row, "container_pid", json_string(text));
}

static void print_table(const struct snapshot *snapshot)
{
	json_t *rows = json_array();
	char text[SELECTED_TEXT];

	for (size_t i = 0; i < snapshot->count; i++) {
		const struct process_identity *identity = &snapshot->processes[i]->identity;
		json_t *row = process_json(snapshot->processes[i]);

		set_inside(row, identity);
		json_object_set_new(row, "short_container",
				    plain_json(selected_container(text, &identity->container)));
		json_object_set_new(row, "short_command",
				    plain_json(selected_command(text, identity, COMMAND)));
		json_array_append_new(rows, row);
	}
	render_table(fields_pidmap_row,
		     "host_pid,pid,container_pid,short_container,container.name,"
		     "container.pod_uid,uses_gpu,short_command",
		     rows, stdout);
}

static void print_json(const struct snapshot *snapshot)
{
	json_t *list = json_array();

	for (size_t i = 0; i < snapshot->count; i++)
		json_array_append_new(list, process_json(snapshot->processes[i]));
	render_print(json_pack("{s:o}", "processes", list), JSON_INDENT(2));
}

static int print(const struct job *job, const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++)
		container_names_query(job->names, &snapshot->processes[i]->identity.container);
	if (job->json)
		print_json(snapshot);
	else
		print_table(snapshot);
	return CLI_DONE;
}

static int show_one(const struct job *job)
{
	struct snapshot_process process = {.gpu = process_gpu(job->pid)}, *list = &process;
	const struct snapshot one = {.processes = &list, .count = 1};
	char errmsg[PROCESS_ERRMSG];
	int rc = process_identify(job->pid, &process.identity);

	if (rc)
		return cli_failed(&cmd_pidmap, "%s", process_errmsg(errmsg, job->pid, rc));
	return print(job, &one);
}

static int show_users(const struct job *job, const struct snapshot *snapshot)
{
	select_warn_hidden(&cmd_pidmap, snapshot);
	if (snapshot->count == 0 && !job->json) {
		puts("no process uses a GPU");
		return CLI_DONE;
	}
	return print(job, snapshot);
}

static int show(const struct job *job)
{
	const struct snapshot_request request = {.scope = SNAPSHOT_SEARCH, .names = job->names};
	struct snapshot_reader *reader;
	const struct snapshot *users;
	struct snapshot snapshot;
	int code;

	if (job->pid && !job->container)
		return show_one(job);
	if (!job->container && (code = select_needs_gpu(&cmd_pidmap)) != CLI_DONE)
		return code;
	reader = snapshot_open(job->socket);
	if (job->container) {
		code = select_container(&cmd_pidmap, reader, job->container, job->names, job->pid,
					&snapshot);
		if (code == CLI_GO_ON)
			code = print(job, &snapshot);
	} else {
		users = select_read(&cmd_pidmap, reader, &request);
		code = users ? show_users(job, users) : CLI_FAILED;
	}
	snapshot_close(reader);
	return code;
}

static int run(int argc, char **argv)
{
	struct job job = {0};
	const struct cli_option options[] = {
		{OPTION_CONTAINER(&job.container)},
		{OPTION_JSON(&job.json)},
		{OPTION_SOCKET(&job.socket)},
		{WORD_PID(&job.pid), .optional = true},
		{0},
	};
	int code = options_read(&cmd_pidmap, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	job.names = container_names_new();
	code = show(&job);
	container_names_free(job.names);
	return code;
}

const struct cli_command cmd_pidmap = {
	.name = "pidmap",
	.summary = "print the pids of a process: on the host, here, in its container",
	.usage = "[--container NAME|ID] [PID] [--json] [--socket PATH]",
	.help = "Prints the pid of a process on the host, here and in its container, the container, and the\n"
		"command: of PID, or of all processes that use a GPU. A value that is not known here is '-',\n"
		"such as the host's pid within a container. Of nested containers the innermost is printed,\n"
		"and IN CONTAINER has a pid for each namespace (17 > 1).\n"
		"\n"
		"  --container X  all processes of that container, with or without GPU use; PID is then the\n"
		"                 pid in it. X: its name, the beginning of its id (4 digits), or the uid of\n"
		"                 its pod. Names are queried from docker, podman and crictl, if they are in\n"
		"                 PATH\n"
		"  --json         one object; docs/reference/processes.md describes the keys\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched pidmap\n"
		"  kfdsched pidmap --container 3f2a9c0d 17\n",
	.run = run,
};
