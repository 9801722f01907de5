// SPDX-License-Identifier: MIT
/* kfdsched queues: the KFD queues of the registered processes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/cli/ask.h"
#include "scheduler/cli/field.h"

/* One queue of the daemon's answer with its process in front. The queue has a
 * priority too (the driver's, 0 to 15): it is called queue_priority here. */
static json_t *entry(json_t *process, json_t *queue)
{
	static const char *const of_process[] = {"pid", "comm", "priority"};
	json_t *out = json_object();
	json_t *value;
	const char *key;

	for (size_t i = 0; i < sizeof(of_process) / sizeof(of_process[0]); i++) {
		value = json_object_get(process, of_process[i]);
		if (value)
			json_object_set(out, of_process[i], value);
		else
			json_object_set_new(out, of_process[i], json_null());
	}
	json_object_foreach(queue, key, value)
		json_object_set(out, strcmp(key, "priority") ? key : "queue_priority", value);
	return out;
}

static int by_pid_then_id(const void *a, const void *b)
{
	static const char *const keys[] = {"pid", "id"};
	const json_t *const *x = a, *const *y = b;

	for (size_t i = 0; i < 2; i++) {
		json_int_t left = json_integer_value(json_object_get(*x, keys[i]));
		json_int_t right = json_integer_value(json_object_get(*y, keys[i]));

		if (left != right)
			return left < right ? -1 : 1;
	}
	return 0;
}

/* Every queue of `pid` (0: of all processes), sorted. *known: the daemon has
 * that process. NULL: no memory. */
static json_t *collect(const json_t *status, json_int_t pid, bool *known)
{
	json_t *processes = json_object_get(status, "processes");
	json_t *process, *queue;
	json_t **list = NULL;
	size_t i, k, count = 0, room = 0;

	*known = false;
	json_array_foreach(processes, i, process) room +=
		json_array_size(json_object_get(process, "queues"));
	list = calloc(room + 1, sizeof(*list));
	json_t *sorted = list ? json_array() : NULL;

	if (!sorted) {
		free(list);
		return NULL;
	}
	json_array_foreach(processes, i, process)
	{
		if (pid && json_integer_value(json_object_get(process, "pid")) != pid)
			continue;
		*known = true;
		json_array_foreach(json_object_get(process, "queues"), k, queue) list[count++] =
			entry(process, queue);
	}
	qsort(list, count, sizeof(*list), by_pid_then_id);
	for (i = 0; i < count; i++)
		json_array_append_new(sorted, list[i]);
	free(list);
	return sorted;
}

static void queue_row(struct table *table, const json_t *queue)
{
	const json_t *bytes = json_object_get(queue, "ring_bytes");
	char text[QUANTITY_BYTES];

	table_row(table);
	table_cell(table, "%s", field_integer(text, queue, "pid"));
	table_cell(table, "%s", field_text(queue, "comm"));
	table_cell(table, "%s", field_integer(text, queue, "priority"));
	table_cell(table, "%s", field_integer(text, queue, "id"));
	table_cell(table, "%s", field_integer(text, queue, "gpu_id"));
	table_cell(table, "%s", field_text(queue, "type"));
	table_cell(table, "%s", field_yes(queue, "active"));
	table_cell(table, "%s", field_integer(text, queue, "queue_priority"));
	if (json_is_integer(bytes) && json_integer_value(bytes) >= 0)
		quantity_bytes(text, (unsigned long long)json_integer_value(bytes));
	else
		strcpy(text, TABLE_UNKNOWN);
	table_cell(table, "%s", text);
	table_cell(table, "%s", field_text(queue, "ring_address"));
	table_cell(table, "%s", field_text(queue, "rptr_address"));
	table_cell(table, "%s", field_text(queue, "wptr_address"));
	table_cell(table, "%s", field_text(queue, "hsa_queue"));
}

static int unknown_process(pid_t pid)
{
	if (kill(pid, 0) != 0 && errno == ESRCH)
		return cli_failed(&verb_queues, "process %d is gone", (int)pid);
	return cli_failed(&verb_queues,
			  "the daemon does not know process %d: it runs without libkfdshim.so, "
			  "or has not used a GPU yet",
			  (int)pid);
}

static int show(const json_t *status, pid_t pid, bool as_json)
{
	bool known;
	json_t *queues = collect(status, pid, &known);
	int code = CLI_DONE;

	if (!queues)
		return cli_failed(&verb_queues, "no memory for the list");
	if (pid && !known) {
		code = unknown_process(pid);
	} else if (as_json) {
		json_t *out = json_pack("{s:s,s:O}", "source", "daemon", "queues", queues);

		json_dumpf(out, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(out);
	} else if (json_array_size(queues) == 0) {
		printf("no queues\n");
	} else if (field_table("PID|<COMMAND|PRIORITY|QUEUE|NODE|<TYPE|<GPU WORK|QUEUE PRIORITY|"
			       "RING|<RING ADDRESS|<READ POINTER|<WRITE POINTER|<HSA_QUEUE_T",
			       queues, queue_row)) {
		code = cli_failed(&verb_queues, "no memory for the table");
	}
	json_decref(queues);
	return code;
}

static int run(int argc, char **argv)
{
	struct ask_options options = {0};
	int pid;
	json_t *status;
	int code = ask_options(&verb_queues, argc, argv, &options);

	if (code != ASK_GO_ON)
		return code;
	code = ask_pid(&verb_queues, argc, argv, &pid);
	if (code != ASK_GO_ON)
		return code;
	code = ask_status(&verb_queues, options.socket, 0, &status);
	if (code != ASK_GO_ON)
		return code;
	code = show(status, pid, options.json);
	json_decref(status);
	return code;
}

const struct verb verb_queues = {
	.name = "queues",
	.summary = "the GPU queues of every process that runs with the shim",
	.usage = "[PID] [--json] [--socket PATH]",
	.help = "Prints every KFD queue of the registered processes, or of PID alone: its KFD id, "
		"its\n"
		"node (gpu_id), its ring, and the address of its hsa_queue_t in that process. A "
		"value\n"
		"that is not known is '-'. PRIORITY is the process' own, QUEUE PRIORITY the "
		"driver's.\n"
		"\n"
		"  --json         docs/formats.md names the keys; sorted by pid, then id\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched queues 4711\n"
		"  kfdsched queues --json | jq '.queues[] | select(.active) | [.pid, .id]'\n",
	.run = run,
};
