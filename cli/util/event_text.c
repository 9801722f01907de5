// SPDX-License-Identifier: MIT
#include "cli/util/event_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "common/text.h"

#define PROCESS "process {pid} ({comm})"
#define PRIORITY "[priority {priority}|no priority]"
#define BY "[, requested by process {by_pid} of user {by_uid}]"

/* Name of a kind of event or of a reason, and the text for it in the format of render_text(). */
struct event_format {
	const char *name, *text;
};

static const struct event_format kinds[] = {
	{"came", PROCESS " registered with " PRIORITY ", of user {uid}"},
	{"went", PROCESS " {reason}"},
	{"level", PROCESS " has level {level}[: {reason}]"},
	{"priority", PROCESS " has " PRIORITY BY},
	{"lease", PROCESS " is no longer to be suspended"},
	{"policy",
	 "policy {policy}[ with {share_percent} %][ on GPU {gpu}| on all GPUs without their "
	 "own policy]" BY},
	{"listening", "a subscriber receives the events of the daemon's worker {worker_pid}"},
	{"lost", "{count} events were not read in time and are lost"},
	{0},
};

/* The reasons of docs/reference/events.md, as clauses. */
static const struct event_format reasons[] = {
	{"preempted", " for the work of [process {cause_pid}|more urgent processes]"},
	{"leased", " because an operator requested it"},
	{"idle", " because the work of [process {cause_pid}|more urgent processes] has ended"},
	{"released", " because the operator's request ended"},
	{"bound", " because it was held for the maximum time"},
	{"leaving", " because it is in a driver call that waits for the resume"},
	{"undone", " because a suspend failed"},
	{"slow", " because a suspend was too slow"},
	{"daemon_leaves", " because the daemon shuts down"},
	{0},
};

static const char *format_of(const struct event_format *list, const char *name)
{
	while (list->name && strcmp(list->name, name) != 0)
		list++;
	return list->text;
}

/* Writes the GPUs of the event. */
static void put_gpus(FILE *out, const json_t *event)
{
	json_t *list = json_object_get(event, "gpu_ids");
	const json_t *gpu_id;
	char gpu[GPU_NAME_SHORT];
	size_t i;

	json_array_foreach(list, i, gpu_id)
	{
		const char *before = json_array_size(list) > 1 ? " on GPUs " : " on GPU ";

		fprintf(out, "%s%s", i ? ", " : before,
			gpus_short(gpu, (uint32_t)json_integer_value(gpu_id)));
	}
}

/* Writes a suspend or resume as a sentence: the process, the GPUs, the reason, how long after the
 * cause it began, and how long it took. */
static void put_act(FILE *out, const json_t *event, const char *act)
{
	const char *reason = format_of(reasons, field_text(event, "reason"));
	bool failed = strcmp(field_text(event, "error"), TABLE_UNKNOWN) != 0;

	render_text(out, PROCESS, event);
	fprintf(out, failed ? " could not be %s" : " %s", act);
	put_gpus(out, event);
	render_text(out, reason ? reason : "[ for '{reason}'| for an unknown reason]", event);
	render_text(out,
		    "[, {latency_us} after the cause][, took {duration_us}], level {level}"
		    "[: {error}]",
		    event);
}

/* Writes an event of a kind that only a newer daemon knows: all of its keys and values. */
static void put_unknown(FILE *out, json_t *event, const char *kind)
{
	const char *key;
	json_t *value;

	fprintf(out, "%s", kind);
	json_object_foreach(event, key, value)
	{
		char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

		if (strcmp(key, "number") != 0 && strcmp(key, "time_us") != 0 &&
		    strcmp(key, "kind") != 0)
			fprintf(out, " %s=%s", key, text ? text : "?");
		free(text);
	}
}

const char *event_text(char text[static EVENT_TEXT], json_t *event)
{
	FILE *out = fmemopen(text, EVENT_TEXT, "w");
	const char *kind = field_text(event, "kind"), *format = format_of(kinds, kind);
	const json_t *gpu_id = json_object_get(event, "gpu_id");
	char gpu[GPU_NAME_SHORT];

	text[0] = '\0';
	if (!out)
		return text;
	if (strcmp(kind, "policy") == 0 && json_is_integer(gpu_id))
		json_object_set_new(
			event, "gpu",
			json_string(gpus_short(gpu, (uint32_t)json_integer_value(gpu_id))));
	if (strcmp(kind, "suspend") == 0)
		put_act(out, event, "suspended");
	else if (strcmp(kind, "resume") == 0)
		put_act(out, event, "resumed");
	else if (json_is_true(json_object_get(event, "leased")))
		render_text(out, PROCESS " is to be suspended", event);
	else if (format)
		render_text(out, format, event);
	else
		put_unknown(out, event, kind);
	fclose(out);
	text[EVENT_TEXT - 1] = '\0';
	return plain_text(text);
}

const char *event_time(char text[static EVENT_TIME], const json_t *event)
{
	const json_t *time_us = json_object_get(event, "time_us");
	json_int_t us = json_integer_value(time_us);
	time_t s = (time_t)(us / 1000000);
	struct tm tm;

	if (!json_is_integer(time_us) || us < 0 || !localtime_r(&s, &tm))
		return strcpy(text, TABLE_UNKNOWN);
	strftime(text, EVENT_TIME, "%H:%M:%S", &tm);
	snprintf(text + strlen(text), EVENT_TIME - strlen(text), ".%06lld",
		 (long long)(us % 1000000));
	return text;
}
