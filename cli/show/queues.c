// SPDX-License-Identifier: MIT
/* kfdsched queues: all GPU queues of one process or of all processes, from all sources. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inspect/gpu_processes.h"
#include "cli/inspect/process.h"
#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/allocate.h"

enum format { FORMAT_TABLE, FORMAT_C, FORMAT_JSON }; /* order of the words of --format */

struct job {
	int pid; /* 0: all processes */
	bool addresses;
	enum format format;
	const char *socket;
};

/* A process and its queues, as the sources report them. */
struct queues_seen {
	struct process_identity identity;
	struct observation observation;
};

/* ---- as text ---- */

/* Writes all sources that listed the queue or reported a value of it: "daemon,mqd". */
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

/* Prints the ids of the compute queues as a C array, with a comment. */
static void print_c(const struct queues_seen *seen)
{
	const struct observe_list *queues = &seen->observation.queues;
	const char *before = "";
	char name[sizeof(seen->identity.comm)];
	size_t n = 0;

	strcpy(name, seen->identity.comm);
	for (char *c = name; *c; c++)
		if (*c == '*' || *c == '/' || *c == '\\')
			*c = '?'; /* the name is printed in a C comment */
	for (size_t i = 0; i < queues->count; i++)
		n += for_suspend(&queues->queue[i]);
	printf("/* process %d (%s): %zu compute queues of %zu queues */\n", (int)seen->identity.pid,
	       name, n, queues->count);
	printf("uint32_t num_queues = %zu;\nuint32_t queue_ids[%zu] = {", n, n ? n : 1);
	for (size_t i = 0; i < queues->count; i++) {
		if (!for_suspend(&queues->queue[i]))
			continue;
		printf("%s%u", before, queues->queue[i].id);
		before = ", ";
	}
	puts(n ? "};" : "0};");
}

/* ---- as JSON, and as a table of it ---- */

/* Empty column, which print_table() fills with the names of the sources. */
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

static json_t *queue_json(const struct queues_seen *seen, const struct observe_queue *queue)
{
	json_t *out = render_json(fields_process_pids, &seen->identity);

	json_object_update_new(out, observe_json(queue));
	return out;
}

static void print_json(const struct queues_seen *list, size_t n)
{
	json_t *processes = json_array(), *queues = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *process = render_json(fields_process_pids, &list[i].identity);
		const struct observe_list *seen = &list[i].observation.queues;

		json_object_set_new(process, "source_results", results_json(&list[i].observation));
		json_array_append_new(processes, process);
		for (size_t k = 0; k < seen->count; k++)
			json_array_append_new(queues, queue_json(&list[i], &seen->queue[k]));
	}
	render_print(json_pack("{so so so}", "processes", processes, "queues", queues, "gpus",
			       gpus_json()),
		     JSON_INDENT(2));
}

/* Columns of the table; those of addresses come between its first and its last part. */
#define COLUMNS                                                                                    \
	"pid,host_pid,container_pid,comm,QUEUE,gpu_id,type,STATE,active,queue_priority,CUS,"       \
	"ring_bytes,wptr,rptr,BACKLOG,EXCEPTIONS,"
#define LAST_COLUMNS "GPU,SOURCES"

static void print_table(const struct job *job, const struct queues_seen *list, size_t n)
{
	json_t *rows = json_array();
	char text[64];

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < list[i].observation.queues.count; k++) {
			const struct observe_queue *queue = &list[i].observation.queues.queue[k];
			json_t *row = queue_json(&list[i], queue);

			json_object_set_new(row, "SOURCES", json_string(source_names(text, queue)));
			json_array_append_new(rows, row);
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

/* Reads the queues of the process that out->identity names. `beside`: an observer whose cache is
 * shared; NULL: none. */
static int inspect(const struct job *job, struct observer *beside, struct queues_seen *out)
{
	const struct observe_options options = {
		.pid = out->identity.pid, .socket = job->socket, .beside = beside};
	struct observer *observer = observe_open(&options);
	int rc = observe_sample(observer, &out->observation);

	observe_close(observer);
	return rc;
}

static int read_one(const struct job *job, struct queues_seen *out)
{
	int rc, code = select_process(&cmd_queues, job->pid, &out->identity);
	char why[OBSERVE_WHY];

	if (code != CLI_GO_ON)
		return code;
	rc = inspect(job, NULL, out);
	if (rc == -ESRCH)
		return cli_failed(&cmd_queues, "process %d has ended", job->pid);
	if (rc)
		return cli_failed(&cmd_queues, "cannot read process %d: %s", job->pid,
				  strerror(-rc));
	if (out->observation.listed)
		return CLI_GO_ON;
	select_no_queues(&cmd_queues, &out->identity, &out->observation, OBSERVE_SYSFS);
	return observe_can_list(job->socket, why) == 0 ? CLI_FAILED : CLI_IMPOSSIBLE;
}

/* Reads the queues of all processes. Processes that end meanwhile are left out. Returns their
 * number. */
static size_t read_all(const struct job *job, struct queues_seen **out)
{
	/* An observer of this process, which has no queues, is kept open so that debugfs is read
	 * once for all processes and not once for each. */
	const struct observe_options ours = {.pid = getpid(), .socket = job->socket};
	struct observer *beside = observe_open(&ours);
	struct gpu_processes users;
	size_t n = 0;

	gpu_processes_read(OBSERVE_ALL, job->socket, &users);
	*out = allocate(users.count, sizeof(**out));
	for (size_t i = 0; i < users.count; i++) {
		if (process_identify(users.pid[i], &(*out)[n].identity) == 0 &&
		    inspect(job, beside, &(*out)[n]) == 0) {
			n++;
			continue;
		}
		observation_free(&(*out)[n].observation);
		memset(&(*out)[n], 0, sizeof(**out));
	}
	observe_close(beside);
	gpu_processes_free(&users);
	return n;
}

static int show(const struct job *job)
{
	struct queues_seen *list;
	size_t n = 1;
	int code = CLI_GO_ON;

	if (!job->pid && (code = select_needs_list(&cmd_queues, job->socket)) != CLI_DONE)
		return code;
	if (job->pid) {
		list = allocate(1, sizeof(*list));
		code = read_one(job, list);
	} else {
		n = read_all(job, &list);
		code = CLI_GO_ON;
	}
	if (code == CLI_GO_ON) {
		if (job->format == FORMAT_JSON)
			print_json(list, n);
		else if (job->format == FORMAT_C)
			print_c(list);
		else
			print_table(job, list, n);
		code = CLI_DONE;
	}
	for (size_t i = 0; i < n; i++)
		observation_free(&list[i].observation);
	free(list);
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
