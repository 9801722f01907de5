// SPDX-License-Identifier: MIT
#include "cli/show/status_dump.h"

#include <stdio.h>
#include <string.h>

#include "channel/client_shm.h"
#include "cli/inspect/sources.h"
#include "cli/output/json_fields.h"
#include "cli/util/gpus.h"

/* Prints the identity of the process, its level and its debug sessions. */
static void print_process(const json_t *process, const json_t *shm)
{
	char pid[FIELD_BYTES], priority[FIELD_BYTES], suspends[FIELD_BYTES], failures[FIELD_BYTES];

	printf("process %s (%s): priority %s, %s, group %s, level %s, %s; suspends %s, failures "
	       "%s\n",
	       field_integer(pid, process, "pid"), field_text(process, "comm"),
	       field_integer(priority, process, "priority"), field_text(process, "role"),
	       field_text(process, "group"), field_text(process, "level"),
	       field_text(process, "state"), field_integer(suspends, process, "suspends"),
	       field_integer(failures, process, "failures"));
	printf("runtime: %s (errno %s)\n", field_text(shm, "runtime"),
	       field_integer(pid, shm, "runtime_errno"));
	printf("debug session: its own %s, the daemon's %s; by UPDATE_QUEUE: %s; suspended by the "
	       "daemon: %s\n",
	       field_yes(shm, "own_session"), field_yes(shm, "session"),
	       field_yes(shm, "by_updates"), field_yes(shm, "suspended"));
}

/* Prints the last command to hold or release the process that the daemon has put into the shared
 * memory of the client, and the announced calls that a suspension would block (destroying a queue,
 * disabling the runtime). */
static void print_hold_cmd(const json_t *shm)
{
	const json_t *hold_cmd = json_object_get(shm, "hold_cmd");
	char number[FIELD_BYTES], error[FIELD_BYTES], end[FIELD_BYTES], granted[FIELD_BYTES];

	if (json_is_object(hold_cmd))
		printf("hold command %s: %s by level %s, executed %s (errno %s)\n",
		       field_integer(number, hold_cmd, "number"),
		       json_is_true(json_object_get(hold_cmd, "hold")) ? "hold" : "release",
		       field_text(hold_cmd, "level"), field_yes(hold_cmd, "done"),
		       field_integer(error, shm, "hold_cmd_errno"));
	else
		printf("hold command: %s\n", hold_cmd ? "none yet" : TABLE_UNKNOWN);
	printf("calls that a suspension would block: %s announced, %s released, %s returned\n",
	       field_integer(number, shm, "teardown_begin"),
	       field_integer(granted, shm, "teardown_granted"),
	       field_integer(end, shm, "teardown_end"));
}

/* Adds the row of a node: the client's activity there, and the time since it last changed. */
static void node_row(struct table *table, const json_t *node)
{
	char text[FIELD_BYTES], quantity[QUANTITY_BYTES];

	table_row(table);
	gpus_short_cell(table, node);
	table_cell(table, "%s", field_yes(node, "active"));
	table_cell(table, "%s", field_integer(text, node, "transitions"));
	table_cell(table, "%s", quantity_us(quantity, field_number(node, "active_age_us")));
	table_cell(table, "%s", quantity_us(quantity, field_number(node, "idle_age_us")));
	table_cell(table, "%s",
		   quantity_bytes(quantity, (unsigned long long)json_integer_value(
						    json_object_get(node, "vram_bytes"))));
}

static int print_nodes(const json_t *nodes)
{
	return field_table("GPU|<WORK|CHANGES|LAST BEGAN BEFORE|LAST ENDED BEFORE|VRAM", nodes,
			   node_row);
}

/* Adds the row of a queue as the shim has published it. */
static void queue_row(struct table *table, const json_t *queue)
{
	static const char *const numbers[] = {"priority", "percent", "cu_bits"};
	char text[FIELD_BYTES], quantity[QUANTITY_BYTES];

	table_row(table);
	table_cell(table, "%s", field_integer(text, queue, "context"));
	table_cell(table, "%s", field_integer(text, queue, "id"));
	gpus_short_cell(table, queue);
	table_cell(table, "%s", field_text(queue, "type"));
	table_cell(table, "%s", field_text(queue, "state"));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		table_cell(table, "%s", field_integer(text, queue, numbers[i]));
	table_cell(table, "%s", field_yes(queue, "hooked"));
	table_cell(table, "%s", field_yes(queue, "cooperative"));
	table_cell(table, "%s", field_text(queue, "ring_address"));
	table_cell(table, "%s",
		   quantity_bytes(quantity, (unsigned long long)json_integer_value(
						    json_object_get(queue, "ring_bytes"))));
	table_cell(table, "%s", field_text(queue, "rptr_address"));
	table_cell(table, "%s", field_text(queue, "wptr_address"));
	table_cell(table, "%s", field_text(queue, "hsa_queue"));
	table_cell(table, "%s", field_text(queue, "cwsr_address"));
	table_cell(table, "%s", field_text(queue, "not_suspendable"));
}

static int print_queues(const json_t *queues)
{
	return field_table("CONTEXT|QUEUE|GPU|<TYPE|<STATE|PRIORITY|PERCENT|CUS|<HOOKED|"
			   "<COOPERATIVE|<RING|SIZE|<RPTR|<WPTR|<HSA QUEUE|<SAVE AREA|"
			   "<WHY NOT SUSPENDABLE",
			   queues, queue_row);
}

/* Adds the value of an event in a form that depends on the kind of the event. A value of "updated"
 * has the queue priority in its low 32 bits and the queue percentage above. */
static void value_cell(struct table *table, const json_t *event)
{
	const char *kind = field_text(event, "kind");
	json_int_t value = json_integer_value(json_object_get(event, "value"));

	if (strcmp(kind, "updated") == 0)
		table_cell(table, "priority %d, %d %%", (int)(value & 0xffffffff),
			   (int)(value >> 32));
	else if (strcmp(kind, "session") == 0)
		table_cell(table, "%s", value ? "begun" : "ended");
	else if (strcmp(kind, "held") == 0 || strcmp(kind, "released") == 0)
		table_cell(table, "by level %s", client_shm_level_name((uint32_t)value));
	else if (strcmp(kind, "failed") == 0)
		table_cell(table, "%s", strerror((int)value));
	else
		table_cell(table, "%lld", (long long)value);
}

/* Adds the row of an event that the shim has logged in its shared memory. */
static void event_row(struct table *table, const json_t *event)
{
	char text[FIELD_BYTES], quantity[QUANTITY_BYTES];

	table_row(table);
	table_cell(table, "%s", field_integer(text, event, "number"));
	table_cell(table, "%s", quantity_us(quantity, field_number(event, "age_us")));
	table_cell(table, "%s", field_text(event, "kind"));
	table_cell(table, "%s", field_integer(text, event, "context"));
	table_cell(table, "%s", field_integer(text, event, "queue_id"));
	gpus_short_cell(table, event);
	value_cell(table, event);
}

static int print_events(const json_t *events)
{
	return field_table("EVENT|AGE|<KIND|CONTEXT|QUEUE|GPU|<VALUE", events, event_row);
}

/* Prints an empty line, then the list with print(), or the text `none` if the list is empty. */
static int part(const json_t *list, const char *none, int (*print)(const json_t *list))
{
	putchar('\n');
	if (json_array_size(list) > 0)
		return print(list);
	printf("%s\n", none);
	return 0;
}

int dump_print(const struct cli_command *cmd, const json_t *dump)
{
	const json_t *shm = source_daemon_shm(dump);
	char text[FIELD_BYTES];

	print_process(json_object_get(dump, "process"), shm);
	print_hold_cmd(shm);
	if (part(json_object_get(shm, "nodes"), "no nodes", print_nodes) ||
	    part(json_object_get(shm, "queues"), "no queues", print_queues))
		return cli_failed(cmd, "out of memory for the table");
	if (json_integer_value(json_object_get(shm, "unreadable_queues")) > 0)
		printf("%s more cannot be read: out of range, or written during every read\n",
		       field_integer(text, shm, "unreadable_queues"));
	if (part(json_object_get(shm, "events"), "no events yet", print_events))
		return cli_failed(cmd, "out of memory for the table");
	return CLI_DONE;
}
