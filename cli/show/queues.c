// SPDX-License-Identifier: MIT
/* kfdsched queues: prints all GPU queues of one process or of all processes, from all sources. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/snapshot.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"

enum format { FORMAT_TABLE, FORMAT_C, FORMAT_JSON }; /* order of the words of --format */

struct job {
	int pid; /* 0: all processes */
	bool addresses;
	enum format format;
	const char *socket;
};

/* ---- as text ---- */

/* Writes the names of all sources that listed the queue or reported a value of it: "daemon,mqd". */
static const char *source_names(char text[64], const struct observe_queue *queue)
{
	uint32_t mask = queue->source_mask;

	for (unsigned f = 0; f < OBSERVE_FIELDS; f++)
		if (observe_known(queue, f))
			mask |= OBSERVE_BIT(queue->field[f].source);
	text[0] = '\0';
	for (unsigned s = OBSERVE_DAEMON; s < OBSERVE_SOURCES; s++) {
		if (!(mask & OBSERVE_BIT(s)))
			continue;
		if (text[0])
			strcat(text, ",");
		strcat(text, observe_source_name(s));
	}
	return text;
}

/* ---- as C ---- */

/* Returns true for the queues that --format c lists. DBG_TRAP accepts the queue ids of the
 * process's first context only. SDMA queues are left out because a suspend is meant for compute
 * queues: suspending an SDMA queue would delay a copy and save no state. */
static bool for_suspend(const struct observe_queue *queue)
{
	return queue->context == 0 && observe_known(queue, OBSERVE_TYPE) &&
	       observe_is_compute(queue->field[OBSERVE_TYPE].value);
}

/* Prints the ids of the queues that for_suspend() selects as a C array, with a comment. */
static void print_c(const struct snapshot_process *process)
{
	const struct observe_list *queues = &process->seen.queues;
	const char *before = "";
	char name[sizeof(process->identity.comm)];
	size_t n = 0;

	strcpy(name, process->identity.comm);
	for (char *c = name; *c; c++)
		if (*c == '*' || *c == '/' || *c == '\\')
			*c = '?'; /* the name is printed within a C comment */
	for (size_t i = 0; i < queues->count; i++)
		n += for_suspend(&queues->queue[i]);
	printf("/* process %d (%s): %zu compute queues of %zu queues */\n",
	       (int)process->identity.pid, name, n, queues->count);
	printf("uint32_t num_queues = %zu;\nuint32_t queue_ids[%zu] = {", n, n ? n : 1);
	for (size_t i = 0; i < queues->count; i++) {
		if (!for_suspend(&queues->queue[i]))
			continue;
		printf("%s%u", before, queues->queue[i].id);
		before = ", ";
	}
	puts(n ? "};" : "0};");
}

/* ---- as JSON and as a table ---- */

/* Returns the text of the column SOURCES, which print_table() has added to the row. */
static const char *sources_cell(char text[FIELD_CELL], const json_t *row)
{
	(void)text;
	return field_text(row, "SOURCES");
}

#include "cli/show/queues.def"

static json_t *results_json(const struct observation *observation)
{
	json_t *list = json_array();

	for (unsigned s = OBSERVE_DAEMON; s < OBSERVE_SOURCES; s++) {
		json_t *result;

		if (!observation->result[s].queried)
			continue;
		result = render_json(fields_source_result, &observation->result[s]);
		json_object_set_new(result, "source", json_string(observe_source_name(s)));
		json_array_append_new(list, result);
	}
	return list;
}

static json_t *queue_json(const struct snapshot_process *process, const struct observe_queue *queue)
{
	json_t *out = render_json(fields_process_pids, &process->identity);

	json_object_update_new(out, observe_json(queue));
	return out;
}

static void print_json(const struct snapshot *snapshot)
{
	json_t *processes = json_array(), *queues = json_array();

	for (size_t i = 0; i < snapshot->count; i++) {
		const struct snapshot_process *process = snapshot->processes[i];
		json_t *entry = render_json(fields_process_pids, &process->identity);

		json_object_set_new(entry, "source_results", results_json(&process->seen));
		json_array_append_new(processes, entry);
		for (size_t k = 0; k < process->seen.queues.count; k++)
			json_array_append_new(queues,
					      queue_json(process, &process->seen.queues.queue[k]));
	}
	render_print(json_pack("{so so so}", "processes", processes, "queues", queues, "gpus",
			       gpus_json()),
		     JSON_INDENT(2));
}

/* Columns of the table. With --addresses, the columns of addresses are between COLUMNS and
 * LAST_COLUMNS. */
#define COLUMNS                                                                                    \
	"pid,host_pid,container_pid,comm,QUEUE,gpu_id,type,STATE,active,queue_priority,CUS,"       \
	"ring_bytes,wptr,rptr,BACKLOG,EXCEPTIONS,"
#define LAST_COLUMNS "GPU,SOURCES"

static void print_table(const struct job *job, const struct snapshot *snapshot)
{
	json_t *rows = json_array();
	char text[64];

	for (size_t i = 0; i < snapshot->count; i++) {
		const struct observe_list *queues = &snapshot->processes[i]->seen.queues;

		for (size_t k = 0; k < queues->count; k++) {
			json_t *row = queue_json(snapshot->processes[i], &queues->queue[k]);

			json_object_set_new(row, "SOURCES",
					    json_string(source_names(text, &queues->queue[k])));
			json_array_append_new(rows, row);
		}
	}
	if (!json_array_size(rows)) {
		json_decref(rows);
		puts("no queues");
		return;
	}
	render_table(fields_queues_queue,
		     job->addresses ? COLUMNS "ring_address,wptr_address,rptr_address,cwsr_address,"
					      "cwsr_bytes,hsa_queue," LAST_COLUMNS
				    : COLUMNS LAST_COLUMNS,
		     rows, stdout);
}

/* ---- collecting ---- */

/* Checks that the process has not ended and that a source lists its queues. Returns CLI_GO_ON, or
 * the exit code after a line on stderr. */
static int check_one(const struct job *job, const struct snapshot_process *process)
{
	char why[OBSERVE_WHY];

	if (process->ended)
		return cli_failed(&cmd_queues, "process %d has ended", job->pid);
	if (process->seen.listed)
		return CLI_GO_ON;
	select_no_queues(&cmd_queues, &process->identity, &process->seen, OBSERVE_SYSFS);
	return observe_can_list(job->socket, why) == 0 ? CLI_FAILED : CLI_IMPOSSIBLE;
}

static int print(const struct job *job, const struct snapshot *snapshot)
{
	int code = job->pid ? check_one(job, snapshot->processes[0]) : CLI_GO_ON;

	if (code != CLI_GO_ON)
		return code;
	if (job->format == FORMAT_JSON)
		print_json(snapshot);
	else if (job->format == FORMAT_C)
		print_c(snapshot->processes[0]);
	else
		print_table(job, snapshot);
	return CLI_DONE;
}

static int show(const struct job *job)
{
	const struct snapshot_request request = {
		.pids = job->pid ? &job->pid : NULL, .count = 1, .sources = OBSERVE_ALL};
	struct process_identity identity;
	struct snapshot_reader *reader;
	int code;

	if (job->pid)
		code = select_process(&cmd_queues, job->pid, &identity);
	else
		code = select_needs_list(&cmd_queues, job->socket);
	if (code != CLI_GO_ON && code != CLI_DONE)
		return code;
	reader = snapshot_open(job->socket);
	code = print(job, snapshot_read(reader, &request));
	snapshot_close(reader);
	return code;
}

/* ---- command ---- */

static int run(int argc, char **argv)
{
	static const char *const formats[] = {"table", "c", "json", NULL};
	struct job job = {0};
	const struct cli_option options[] = {
		{OPTION_FLAG("addresses", &job.addresses)},
		{OPTION_CHOICE("format", &job.format, formats)},
		{OPTION_IS("json", &job.format, FORMAT_JSON)},
		{OPTION_SOCKET(&job.socket)},
		{WORD_PID(&job.pid), .optional = true},
		{0},
	};
	int code = options_read(&cmd_queues, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	if (job.format == FORMAT_C && !job.pid)
		return cli_usage(&cmd_queues, "--format c applies to one process: give its PID");
	return show(&job);
}

const struct cli_command cmd_queues = {
	.name = "queues",
	.summary = "list every GPU queue of a process, or of all processes",
	.usage = "[PID] [--addresses] [--format table|c|json] [--json] [--socket PATH]",
	.help = "Prints every KFD queue of PID, or of all processes that use a GPU: with or without the shim,\n"
		"with or without a daemon. The sources are, in this order: the daemon, the shared memory of\n"
		"the shim (shm), the driver's sysfs, debugfs (root), and for write and read pointers the\n"
		"memory of the process; SOURCES lists those that reported values. A value that no source\n"
		"reports is '-'. No process is stopped or traced. The exit code is 77 if the processes cannot\n"
		"be listed: without a driver, or in a container without the daemon's socket.\n"
		"\n"
		"WORK: the shim detects work in the queue. PRIORITY is that of the driver's queue (0 to 15).\n"
		"CUS: compute units in its mask. WPTR and RPTR count AQL packets, PM4 dwords, SDMA bytes.\n"
		"EXCEPTIONS: faults of the queue that the driver has reported to its runtime, or to the\n"
		"daemon's debug session. A queue of a secondary KFD context is CONTEXT.QUEUE.\n"
		"\n"
		"  --addresses    also prints the addresses of ring, pointers, save area and hsa_queue_t\n"
		"  --format c     prints the ids of the compute queues as a C array; needs PID\n"
		"  --json         docs/reference/processes.md describes the keys; sorted by pid, then id\n" HELP_SOCKET
		"\n"
		"Examples:\n"
		"  kfdsched queues 4711 --addresses\n"
		"  kfdsched queues --json | jq '.queues[] | select(.suspended) | [.pid, .id]'\n",
	.run = run,
};
