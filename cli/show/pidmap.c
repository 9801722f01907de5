// SPDX-License-Identifier: MIT
/* kfdsched pidmap: the pids of a process on the host, in this pid namespace and in its
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
	struct selection_criteria criteria;
	struct container_names *names;
};

#include "cli/show/pidmap.def"

static json_t *process_json(const struct selected_process *selected)
{
	json_t *out = render_json(fields_process, &selected->identity);

	json_object_set_new(out, "uses_gpu",
			    selected->gpu == PROCESS_GPU_UNKNOWN
				    ? json_null()
				    : json_boolean(selected->gpu == PROCESS_GPU_YES));
	return out;
}

/* Adds the pid in each pid namespace below that of kfdsched: "17", or "17 > 1" for nested ones. */
static void set_inside(json_t *row, const struct process_identity *identity)
{
	char text[PROCESS_NAMESPACES * 16] = "";

	for (unsigned i = 1; i < identity->depth; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d",
			 i > 1 ? " > " : "", (int)identity->pids[i]);
	if (text[0])
		json_object_set_new(row, "container_pid", json_string(text));
}

static void print_table(const struct selection *selection)
{
	json_t *rows = json_array();
	char text[SELECTED_TEXT];

	for (size_t i = 0; i < selection->count; i++) {
		const struct process_identity *identity = &selection->list[i].identity;
		json_t *row = process_json(&selection->list[i]);

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

static void print_json(const struct selection *selection)
{
	json_t *list = json_array();

	for (size_t i = 0; i < selection->count; i++)
		json_array_append_new(list, process_json(&selection->list[i]));
	render_print(json_pack("{s:o}", "processes", list), JSON_INDENT(2));
}

static int print(const struct job *job, struct selection *selection)
{
	for (size_t i = 0; i < selection->count; i++)
		container_names_query(job->names, &selection->list[i].identity.container);
	if (job->json)
		print_json(selection);
	else
		print_table(selection);
	return CLI_DONE;
}

static int show_one(const struct job *job)
{
	struct selected_process selected = {.gpu = process_gpu(job->pid)};
	struct selection one = {.list = &selected, .count = 1};
	char errmsg[PROCESS_ERRMSG];
	int rc = process_identify(job->pid, &selected.identity);

	if (rc)
		return cli_failed(&cmd_pidmap, "%s", process_errmsg(errmsg, job->pid, rc));
	return print(job, &one);
}

/* Keeps only the process that has this pid inside its container. */
static void keep_number(struct selection *selection, pid_t pid)
{
	size_t n_valid = 0;

	for (size_t i = 0; i < selection->count; i++)
		if (process_pid_inside(&selection->list[i].identity) == pid)
			selection->list[n_valid++] = selection->list[i];
	selection->count = n_valid;
}

static int show_container(const struct job *job, struct selection *selection)
{
	if (selection->count == 0)
		return select_no_container(&cmd_pidmap, job->criteria.container, job->names);
	if (job->pid)
		keep_number(selection, job->pid);
	if (selection->count == 0)
		return cli_failed(&cmd_pidmap, "container %s has no process %d",
				  job->criteria.container, job->pid);
	return print(job, selection);
}

static int show_users(const struct job *job, struct selection *selection)
{
	selection_warn(&cmd_pidmap, selection);
	if (selection->count == 0 && !job->json) {
		puts("no process uses a GPU");
		return CLI_DONE;
	}
	return print(job, selection);
}

static int show(struct job *job)
{
	struct selection selection;
	int code;

	if (job->pid && !job->criteria.container)
		return show_one(job);
	job->criteria.gpu = !job->criteria.container;
	if (job->criteria.gpu && (code = select_needs_gpu(&cmd_pidmap)) != CLI_DONE)
		return code;
	code = selection_read(&cmd_pidmap, &selection, &job->criteria, job->names);
	if (code != CLI_GO_ON)
		return code;
	code = job->criteria.container ? show_container(job, &selection)
				       : show_users(job, &selection);
	selection_free(&selection);
	return code;
}

static int run(int argc, char **argv)
{
	struct job job = {0};
	const struct cli_option options[] = {
		{OPTION_CONTAINER(&job.criteria.container)},
		{OPTION_JSON(&job.json)},
		{OPTION_SOCKET(&job.criteria.socket)},
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
