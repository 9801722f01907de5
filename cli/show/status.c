// SPDX-License-Identifier: MIT
/* kfdsched status: prints the state of the daemon, its nodes and its processes. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "channel/client_shm.h"
#include "cli/inspect/sources.h"
#include "cli/util/command.h"
#include "cli/util/daemon_query.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "cli/util/parse_options.h"
#include "common/json_util.h"

/* Writes the number of queues of a process. The daemon's reply has either the queues or their
 * number on each node. */
static const char *queues_cell(char text[FIELD_CELL], const json_t *process)
{
	const json_t *counts = json_object_get(process, "queue_counts"), *node;
	const json_t *queues = json_object_get(process, "queues");
	size_t sum = json_array_size(queues), i;

	json_array_foreach(counts, i, node) sum += (size_t)field_number(node, "queues");
	if (!json_is_array(queues) && !json_is_array(counts))
		return TABLE_UNKNOWN;
	snprintf(text, FIELD_CELL, "%zu", sum);
	return text;
}

#include "cli/show/status.def"

/* Keys of a process's "time_us" in the daemon's status, in the order of the columns. */
static const char *const times[] = {"running",	 "idle",    "suspending", "held",
				    "held_over", "ordered", "resuming"};
/* Index in times[] from which on the times are those of suspensions and their transitions. */
#define FIRST_SUSPENDED 2u
#define TIMES (sizeof(times) / sizeof(times[0]))

/* Returns one of the times of a process, or NAN if the daemon did not report it. */
static double time_of(const json_t *process, const char *key)
{
	return field_number(json_object_get(process, "time_us"), key);
}

static bool was_suspended(const json_t *process)
{
	for (size_t i = FIRST_SUSPENDED; i < TIMES; i++)
		if (time_of(process, times[i]) > 0)
			return true;
	return false;
}

/* Returns a copy of the process with the sum of its times as all_us, and each time in percent of
 * it. If the daemon did not report all times, the copy has none of these keys. */
static json_t *time_row(const json_t *process)
{
	json_t *row = json_copy((json_t *)(uintptr_t)process);
	double all = 0;

	for (size_t i = 0; i < TIMES; i++)
		all += time_of(process, times[i]);
	json_object_set_new(row, "all_us", json_real(all));
	for (size_t i = 0; i < TIMES; i++)
		json_object_set_new(row, times[i],
				    json_real(100 * time_of(process, times[i]) / all));
	return row;
}

/* Prints a table of the time shares of all processes that have been suspended at least once. Adds a
 * note about the columns of kfdsched colocate that are missing here. It says which columns of the
 * table include their times. */
static void print_times(const json_t *processes)
{
	json_t *rows = json_array();
	const json_t *process;
	size_t i;

	json_array_foreach(processes, i, process) if (was_suspended(process))
		json_array_append_new(rows, time_row(process));
	if (!json_array_size(rows)) {
		json_decref(rows);
		return;
	}
	puts("\ntime since registration, in percent:");
	render_table(fields_time_row,
		     "pid,comm,all_us,running,idle,suspending,held,held_over,ordered,"
		     "resuming",
		     rows, stdout);
	puts("columns of colocate that are not available here: BOUNCES -, SAVE+RESTORE - "
	     "(in SUSPENDING and RESUMING);\nONLINE -, DETECTION -, IDLE HELD - (in HELD)");
}

static void print_status(const json_t *status)
{
	json_t *nodes = json_object_get(status, "nodes");
	json_t *processes = json_object_get(status, "processes");

	render_text(
		stdout,
		"kfdschedd {pid} (worker {worker_pid}), up {uptime_us}, policy {policy}; a process is "
		"exempt after three suspends in a row longer than {slow_suspend_us}\n",
		json_object_get(status, "daemon"));
	if (json_array_size(nodes) > 0) {
		putchar('\n');
		render_table(fields_daemon_node,
			     "gpu_id,urgent,suspended,policy,share_percent,GPU,NAME",
			     json_incref(nodes), stdout);
	}
	putchar('\n');
	if (json_array_size(processes) == 0) {
		printf("no processes are registered\n");
		return;
	}
	render_table(fields_daemon_process,
		     "pid,comm,shim,priority,role,group,level,state,active,QUEUES,"
		     "suspends,failures,suspended_us,reason",
		     json_incref(processes), stdout);
	print_times(processes);
}

/* ---- status PID --dump: everything that the daemon knows of one process ---- */

/* Prints what is known of one process: its values in the daemon, its debug sessions, the last
 * command of the daemon to hold it (keep its work off the GPU) or to release it (hold_cmd in the
 * client's shared memory), and the number of calls that a suspension would block (destroying a
 * queue, disabling the runtime). */
static void print_dumped(const json_t *process, const json_t *shm)
{
	const json_t *hold_cmd = json_object_get(shm, "hold_cmd");

	render_text(stdout,
		    "process {pid} ({comm}): priority {priority}, {role}, group {group}, level "
		    "{level}, {state}; suspends {suspends}, failures {failures}\n",
		    process);
	render_text(
		stdout,
		"runtime: {runtime} (errno {runtime_errno})\n"
		"debug session: its own {own_session}, the daemon's {session}; by UPDATE_QUEUE: "
		"{by_updates}; suspended by the daemon: {suspended}\n",
		shm);
	if (json_is_object(hold_cmd)) {
		render_text(stdout, "hold command {number}: ", hold_cmd);
		render_text(stdout,
			    json_is_true(json_object_get(hold_cmd, "hold"))
				    ? "hold by level {level}, executed {done}"
				    : "release by level {level}, executed {done}",
			    hold_cmd);
		render_text(stdout, " (errno {hold_cmd_errno})\n", shm);
	} else {
		printf("hold command: %s\n", hold_cmd ? "none yet" : TABLE_UNKNOWN);
	}
	render_text(stdout,
		    "calls that a suspension would block: {teardown_begin} announced, "
		    "{teardown_granted} released, {teardown_end} returned\n",
		    shm);
}

/* Writes the value of an event in a form that depends on the kind of the event. A value of
 * "updated" has the queue priority in its low 32 bits and the queue percentage above. */
static const char *value_cell(char text[FIELD_CELL], const json_t *event)
{
	const char *kind = field_text(event, "kind");
	json_int_t value = json_integer_value(json_object_get(event, "value"));

	if (strcmp(kind, "session") == 0)
		return value ? "begun" : "ended";
	if (strcmp(kind, "failed") == 0)
		return strerror((int)value);
	if (strcmp(kind, "updated") == 0)
		snprintf(text, FIELD_CELL, "priority %d, %d %%", (int)(value & 0xffffffff),
			 (int)(value >> 32));
	else if (strcmp(kind, "held") == 0 || strcmp(kind, "released") == 0)
		snprintf(text, FIELD_CELL, "by level %s", client_shm_level_name((uint32_t)value));
	else
		snprintf(text, FIELD_CELL, "%lld", (long long)value);
	return text;
}

#include "cli/show/status_dump.def"

/* Prints an empty line, then `list` as a table, or the text `none` if it is empty. */
static void part(json_t *list, const char *none, const struct field *fields, const char *columns)
{
	putchar('\n');
	if (json_array_size(list) > 0)
		render_table(fields, columns, json_incref(list), stdout);
	else
		puts(none);
}

/* Prints the daemon's reply to status PID --dump (docs/reference/status.md) as text. */
static void dump_print(const json_t *dump)
{
	const json_t *shm = source_daemon_shm(dump);

	print_dumped(json_object_get(dump, "process"), shm);
	part(json_object_get(shm, "nodes"), "no nodes", fields_shm_node,
	     "GPU,active,transitions,active_age_us,idle_age_us,vram_bytes");
	part(json_object_get(shm, "queues"), "no queues", fields_shm_queue,
	     "context,id,GPU,type,state,priority,percent,cu_bits,hooked,cooperative,"
	     "ring_address,ring_bytes,rptr_address,wptr_address,hsa_queue,cwsr_address,"
	     "not_suspendable");
	if (json_integer_value(json_object_get(shm, "unreadable_queues")) > 0)
		render_text(stdout,
			    "{unreadable_queues} more cannot be read: out of range, or written "
			    "during every read\n",
			    shm);
	part(json_object_get(shm, "events"), "no events yet", fields_shm_event,
	     "number,age_us,kind,context,queue_id,GPU,VALUE");
}

/* ---- command ---- */

/* Removes all processes from `status` except the one whose pid in this pid namespace is `pid`.
 * Returns CLI_GO_ON. If `status` does not have that process, frees `status`, writes a line to
 * stderr and returns the exit code. */
static int keep_process(json_t *status, const char *socket, int pid)
{
	bool otherwise = source_daemon_counts_otherwise(socket);
	json_t *list = json_object_get(status, "processes");
	size_t i = json_array_size(list);

	while (i-- > 0)
		if (source_daemon_number(json_array_get(list, i), otherwise) != pid)
			json_array_remove(list, i);
	if (json_array_size(list))
		return CLI_GO_ON;
	json_decref(status);
	return cli_failed(&cmd_status,
			  "process %d is not registered with the daemon: 'kfdsched status' lists "
			  "registered processes, 'kfdsched diagnose %d' prints the reason",
			  pid, pid);
}

static int run(int argc, char **argv)
{
	const char *socket = NULL;
	bool as_json = false, dump = false;
	int pid = 0;
	const struct cli_option options[] = {
		{OPTION_FLAG("dump", &dump)},
		{OPTION_JSON(&as_json)},
		{OPTION_SOCKET(&socket)},
		{WORD_PID(&pid), .optional = true},
		{0},
	};
	json_t *status;
	int code = options_read(&cmd_status, argc, argv, options);

	if (code == CLI_GO_ON && dump && !pid)
		return cli_usage(&cmd_status, "--dump needs the PID of a process");
	if (code != CLI_GO_ON)
		return code;

	/* For the table, request only the number of queues: there can be thousands. */
	code = daemon_query_status(&cmd_status, socket, dump ? pid : 0, !dump && !as_json, &status);
	if (code == CLI_GO_ON && pid && !dump)
		code = keep_process(status, socket, pid);
	if (code != CLI_GO_ON)
		return code;
	if (as_json) {
		if (dump)
			json_object_set_new(status, "gpus", gpus_json());
		plain_json_print(status, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
		putchar('\n');
	} else {
		/* Another program than kfdschedd could listen on the socket, so make its strings
		 * safe to print. */
		plain_json_strings(status);
		if (dump)
			dump_print(status);
		else
			print_status(status);
	}
	json_decref(status);
	return CLI_DONE;
}

const struct cli_command cmd_status = {
	.name = "status",
	.summary = "print the daemon's state: its GPUs, and the processes on them",
	.usage = "[PID [--dump]] [--json] [--socket PATH]",
	.help = "Queries kfdschedd and prints its nodes (a node is one KFD gpu_id: a GPU or a partition\n"
		"of one) and the processes that use them. A value that is not known is '-'.\n"
		"\n"
		"  PID            only this process\n"
		"  PID --dump     all details of one process: its nodes, its queues, the hold command and\n"
		"                 its last events\n"
		"  --json         the daemon's reply; docs/reference/status.md describes the keys\n" HELP_SOCKET
		"\n"
		"LEVEL is how a process can be preempted: trap (the daemon suspends its queues), self,\n"
		"gate or weight (the process holds itself when the daemon commands it), or observe (it is\n"
		"only observed; the last column has the reason).\n"
		"\n"
		"A second table shows how processes that have been suspended spent their time since their\n"
		"registration, in percent: RUNNING; IDLE, without work; SUSPENDING and RESUMING; HELD\n"
		"while more urgent work is active; HELD OVER after its end, because more is expected;\n"
		"ORDERED, held at an operator's request. The driver reports neither the parts of its calls\n"
		"nor what ran at which time: the columns BOUNCES and SAVE+RESTORE of colocate are in\n"
		"SUSPENDING and RESUMING, and its ONLINE, DETECTION and IDLE HELD in HELD.\n"
		"\n"
		"Examples:\n"
		"  kfdsched status 4711 --dump\n"
		"  kfdsched status --json | jq '.processes[] | {pid, state, suspended_us}'\n",
	.run = run,
};
