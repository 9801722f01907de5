// SPDX-License-Identifier: MIT
/* kfdsched diagnose: reports on one process, or the processes of a container, with advice. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/doctor/diagnosis.h"
#include "cli/util/gpus.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/allocate.h"

struct job {
	const char *socket, *container;
	struct container_names *names;
	int pid;	/* with a container: pid in it; 0: all processes that use a GPU */
	bool json;	/* print one JSON object */
	bool simulated; /* result: the machine is a simulation */
};

/* Examines one process. Prints the diagnosis, or appends it as JSON to `list` if that is not
 * NULL. */
static int diagnose(struct job *job, pid_t pid, json_t *list)
{
	struct doctor_facts facts;
	struct diagnosis diagnosis = {0};
	char why[PROCESS_ERRMSG];
	int rc = doctor_collect(&facts, job->socket, pid);

	if (!rc)
		rc = doctor_collect_queues(&facts, job->socket);
	if (rc) {
		cli_failed(&cmd_diagnose, "%s", process_errmsg(why, pid, rc));
	} else {
		container_names_query(job->names, &facts.named.identity.container);
		diagnose_evaluate(&facts, &diagnosis);
		if (list)
			json_array_append_new(list, diagnose_json(&facts, &diagnosis));
		else
			diagnose_print(&facts, &diagnosis);
	}
	job->simulated = facts.simulated;
	diagnosis_free(&diagnosis);
	doctor_facts_free(&facts);
	return rc ? CLI_FAILED : CLI_DONE;
}

/* Examines the processes. Returns the exit code: success if at least one could be examined. */
static int report(struct job *job, const pid_t *pids, size_t count)
{
	json_t *list = job->json ? json_array() : NULL;
	int code = CLI_FAILED;

	for (size_t i = 0; i < count; i++) {
		if (i && !job->json)
			printf("\n\n");
		/* If a process has ended in the meantime, the others are still reported. */
		if (diagnose(job, pids[i], list) == CLI_DONE)
			code = CLI_DONE;
	}
	if (job->json && code == CLI_DONE)
		render_print(json_pack("{sb sO so}", "simulated", (int)job->simulated, "processes",
				       list, "gpus", gpus_json()),
			     JSON_INDENT(2));
	json_decref(list);
	return code;
}

/* Selects the processes of the container to examine: the one with pid job->pid in the container, or
 * if job->pid is 0 all that use a GPU. Writes their pids to `pids`, which has room for all
 * processes of the container. Returns their number. */
static size_t choose(const struct job *job, const struct snapshot *snapshot, pid_t *pids)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->count; i++) {
		const struct snapshot_process *process = snapshot->processes[i];

		if (job->pid ? process_pid_inside(&process->identity) == job->pid
			     : process->gpu == PROCESS_GPU_YES &&
				       !process_is_ours(process->identity.pid))
			pids[count++] = process->identity.pid;
	}
	return count;
}

/* Finds the processes of the container and examines them. */
static int report_container(struct job *job)
{
	const struct snapshot_request request = {
		.scope = SNAPSHOT_SEARCH_ALL, .container = job->container, .names = job->names};
	struct snapshot_reader *reader = snapshot_open(job->socket);
	const struct snapshot *snapshot = select_read(&cmd_diagnose, reader, &request);
	pid_t *pids = allocate(snapshot ? snapshot->count : 0, sizeof(*pids));
	size_t count;
	int code;

	if (!snapshot)
		code = CLI_FAILED;
	else if (!snapshot->count)
		code = select_no_container(&cmd_diagnose, job->container, job->names);
	else if ((count = choose(job, snapshot, pids)) > 0)
		code = report(job, pids, count);
	else if (job->pid)
		code = cli_failed(&cmd_diagnose, "container %s has no process %d", job->container,
				  job->pid);
	else
		code = cli_failed(
			&cmd_diagnose, "none of the %zu processes of container %s uses a GPU%s",
			snapshot->count, job->container,
			snapshot->hidden ? ", as far as this user can see: run this as root" : "");
	free(pids);
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
	int code = options_read(&cmd_diagnose, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	if (!job.pid && !job.container)
		return cli_usage(&cmd_diagnose, "no process given: give its PID or its container");
	job.names = container_names_new();
	code = job.container ? report_container(&job) : report(&job, &job.pid, 1);
	container_names_free(job.names);
	return code;
}

const struct cli_command cmd_diagnose = {
	.name = "diagnose",
	.summary = "diagnose one process: its state, its GPU use, can it be preempted",
	.usage = "[--container NAME|ID] [PID] [--json] [--socket PATH]",
	.help = "Prints in one line whether a process runs, uses a GPU and can be preempted, and at which\n"
		"level; then the details: its state, its pids and its container, its tracer, the evidence\n"
		"of its GPU use, its queues, whether its runtime is enabled for debugging, whether\n"
		"'kfdsched suspend' and 'preempt' can hold it now, each level and why it is not available,\n"
		"and the obstacles with a command that removes each. A value that cannot be read from here\n"
		"is '-'. The command stops, suspends and traces no process. 'kfdsched doctor' checks the\n"
		"machine.\n"
		"\n"
		"  --container X  PID is the pid in that container; without PID all processes in it that\n"
		"                 use a GPU. X: a name, the beginning of an id (4 digits), or the uid of a\n"
		"                 pod. Names are queried from docker, podman and crictl, if they are in\n"
		"                 PATH\n"
		"  --json         one object; docs/reference/doctor.md describes the keys\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"The exit code is 0 if the process was found, 1 if there is no such process.\n"
		"\n"
		"Examples:\n"
		"  kfdsched diagnose 4711\n"
		"  kfdsched diagnose --container serve --json | jq -r '.processes[].verdict'\n",
	.run = run,
};
