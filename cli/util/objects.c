// SPDX-License-Identifier: MIT
#include "cli/util/objects.h"

#include <string.h>

#include "cli/inspect/queue_view.h"
#include "cli/util/gpus.h"
#include "common/json_util.h"

static json_t *container_engine(const void *row)
{
	const struct container *container = row;

	return container->engine == CONTAINER_UNKNOWN
		       ? json_null()
		       : json_string(container_engine_name(container->engine));
}

static json_t *container_clue(const void *row)
{
	return json_string(container_clue_name(((const struct container *)row)->clue));
}

static json_t *container_pid(const void *row)
{
	pid_t pid = process_pid_inside(row);

	return json_number(pid > 0, pid);
}

static json_t *process_pids(const void *row)
{
	const struct process_identity *identity = row;
	json_t *out = json_array();

	for (unsigned i = 0; i < identity->depth; i++)
		json_array_append_new(out, json_integer(identity->pids[i]));
	return out;
}

static json_t *process_state(const void *row)
{
	return json_string(process_state_name(((const struct process_identity *)row)->state));
}

static json_t *process_uid(const void *row)
{
	uid_t uid = ((const struct process_identity *)row)->uid;

	return json_number(uid != (uid_t)-1, uid);
}

static json_t *process_container(const void *row);

static json_t *result_answered(const void *row)
{
	return json_boolean(((const struct observe_result *)row)->error == 0);
}

static json_t *result_reason(const void *row)
{
	const struct observe_result *result = row;

	return result->error ? json_string(result->why) : json_null();
}

/* Formats the id of a queue. If the queue belongs to a secondary KFD context, formats it as
 * CONTEXT.QUEUE. */
static const char *queue_cell(char text[FIELD_CELL], const json_t *queue)
{
	const json_t *id = json_object_get(queue, "id");
	json_int_t context = json_integer_value(json_object_get(queue, "context"));

	if (!json_is_integer(id) || !context)
		return field_cell(text, queue, "id");
	snprintf(text, FIELD_CELL, "%lld.%lld", context, json_integer_value(id));
	return text;
}

static const char *queue_state_cell(char text[FIELD_CELL], const json_t *queue)
{
	const json_t *suspended = json_object_get(queue, "suspended");

	(void)text;
	return !json_is_boolean(suspended) ? TABLE_UNKNOWN
	       : json_is_true(suspended)   ? "suspended"
					   : "running";
}

static const char *queue_cus_cell(char text[FIELD_CELL], const json_t *queue)
{
	const json_t *bits = json_object_get(queue, "cu_bits");

	if (json_is_integer(bits) && json_integer_value(bits) == 0)
		return "all";
	return field_cell(text, queue, "cu_bits");
}

/* Formats the backlog of a queue: of AQL queues in packets, of other queues in bytes. */
static const char *queue_backlog_cell(char text[FIELD_CELL], const json_t *queue)
{
	const json_t *backlog = json_object_get(queue, "backlog_bytes");
	unsigned long long bytes = (unsigned long long)json_integer_value(backlog);

	if (!json_is_integer(backlog))
		return TABLE_UNKNOWN;
	if (strcmp(field_text(queue, "type"), "aql") != 0)
		return quantity_bytes(text, bytes);
	snprintf(text, FIELD_CELL, "%llu packets", bytes / 64);
	return text;
}

/* Formats the exceptions of a queue: the first, and the number of the others ("NAME +2"). */
static const char *queue_exceptions_cell(char text[FIELD_CELL], const json_t *queue)
{
	const json_t *names = json_object_get(queue, "exceptions");
	const char *first = json_string_value(json_array_get(names, 0));
	size_t n = json_array_size(names);

	if (!first)
		return json_is_array(names) ? "none" : TABLE_UNKNOWN;
	snprintf(text, FIELD_CELL, n > 1 ? "%s +%zu" : "%s", first, n - 1);
	return text;
}

#include "cli/util/objects.def"

static json_t *process_container(const void *row)
{
	const struct container *container = &((const struct process_identity *)row)->container;

	return container->engine == CONTAINER_NONE ? json_null()
						   : render_json(fields_container, container);
}
