// SPDX-License-Identifier: MIT
#include "cli/show/status_dump.h"

#include <stdio.h>
#include <string.h>

#include "channel/client_shm.h"
#include "cli/inspect/sources.h"
#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"

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

/* The value of an event in a form that depends on the kind of the event. A value of "updated" has
 * the queue priority in its low 32 bits and the queue percentage above. */
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

/* Prints an empty line, then the list as a table, or the text `none` if the list is empty. */
static int part(const json_t *list, const char *none, const struct field *fields,
		const char *columns)
{
	putchar('\n');
	if (json_array_size(list) > 0)
		return render_table(fields, columns, list, stdout);
	printf("%s\n", none);
	return 0;
}

int dump_print(const struct cli_command *cmd, const json_t *dump)
{
	const json_t *shm = source_daemon_shm(dump);
	char text[FIELD_BYTES];

	print_process(json_object_get(dump, "process"), shm);
	print_hold_cmd(shm);
	if (part(json_object_get(shm, "nodes"), "no nodes", fields_shm_node,
		 "GPU,active,transitions,active_age_us,idle_age_us,vram_bytes") ||
	    part(json_object_get(shm, "queues"), "no queues", fields_shm_queue,
		 "context,id,GPU,type,state,priority,percent,cu_bits,hooked,cooperative,"
		 "ring_address,ring_bytes,rptr_address,wptr_address,hsa_queue,cwsr_address,"
		 "not_suspendable"))
		return cli_failed(cmd, "out of memory for the table");
	if (json_integer_value(json_object_get(shm, "unreadable_queues")) > 0)
		printf("%s more cannot be read: out of range, or written during every read\n",
		       field_integer(text, shm, "unreadable_queues"));
	if (part(json_object_get(shm, "events"), "no events yet", fields_shm_event,
		 "number,age_us,kind,context,queue_id,GPU,VALUE"))
		return cli_failed(cmd, "out of memory for the table");
	return CLI_DONE;
}
