// SPDX-License-Identifier: MIT
#include "cli/util/event_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "common/text.h"

/* A text that is being composed, of EVENT_TEXT bytes. */
struct text_line {
	char *text;
	size_t used; /* bytes, without the NUL */
};

static void put(struct text_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends to the line; what does not fit is cut. */
static void put(struct text_line *line, const char *format, ...)
{
	size_t room = EVENT_TEXT - line->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line->text + line->used, room, format, args);
	va_end(args);
	if (n > 0)
		line->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* Appends a duration of the event between two texts, ", 60 us after the cause", if the event has
 * it. */
static void put_us(struct text_line *line, const json_t *event, const char *key, const char *before,
		   const char *after)
{
	char quantity[QUANTITY_BYTES];

	if (json_is_number(json_object_get(event, key)))
		put(line, "%s%s%s", before, quantity_us(quantity, field_number(event, key)), after);
}

/* Returns true if the event has a value for the key that is neither null nor empty. */
static bool has(const json_t *event, const char *key)
{
	const json_t *value = json_object_get(event, key);

	return value && !json_is_null(value) &&
	       !(json_is_string(value) && !json_string_value(value)[0]);
}

static void put_process(struct text_line *line, const json_t *event)
{
	char pid[FIELD_BYTES];

	put(line, "process %s (%s)", field_integer(pid, event, "pid"), field_text(event, "comm"));
}

/* Appends which process has requested the change, if the event has it. */
static void put_by(struct text_line *line, const json_t *event)
{
	char pid[FIELD_BYTES], uid[FIELD_BYTES];

	if (has(event, "by_pid"))
		put(line, ", requested by process %s of user %s",
		    field_integer(pid, event, "by_pid"), field_integer(uid, event, "by_uid"));
}

/* Appends the GPUs of the event. */
static void put_gpus(struct text_line *line, const json_t *event)
{
	json_t *list = json_object_get(event, "gpu_ids");
	const json_t *gpu_id;
	char gpu[GPU_NAME_SHORT];
	size_t i;

	json_array_foreach(list, i, gpu_id)
	{
		const char *before = json_array_size(list) > 1 ? " on GPUs " : " on GPU ";

		put(line, "%s%s", i ? ", " : before,
		    gpus_short(gpu, (uint32_t)json_integer_value(gpu_id)));
	}
}

/* Appends the reason as a clause. clauses[]: the reasons of docs/reference/events.md; "process %s"
 * stands for the process that has caused it, or "more urgent ones" if that is not known. */
static void put_reason(struct text_line *line, const json_t *event)
{
	static const char *const clauses[][2] = {
		{"preempted", "for the work of process %s"},
		{"leased", "because an operator requested it"},
		{"idle", "because the work of process %s has ended"},
		{"released", "because the operator's request ended"},
		{"bound", "because it was held for the maximum time"},
		{"leaving", "because it is in a driver call that waits for the resume"},
		{"undone", "because a suspend failed"},
		{"slow", "because a suspend was too slow"},
		{"daemon_leaves", "because the daemon shuts down"},
	};
	const char *reason = field_text(event, "reason");
	char pid[FIELD_BYTES];

	for (size_t i = 0; i < sizeof(clauses) / sizeof(clauses[0]); i++) {
		const char *clause = clauses[i][1], *hole = strstr(clause, "process %s");

		if (strcmp(reason, clauses[i][0]) != 0)
			continue;
		if (hole && has(event, "cause_pid"))
			put(line, " %.*sprocess %s%s", (int)(hole - clause), clause,
			    field_integer(pid, event, "cause_pid"), hole + strlen("process %s"));
		else if (hole)
			put(line, " %.*smore urgent processes%s", (int)(hole - clause), clause,
			    strcmp(reason, "idle") == 0 ? " has ended" : "");
		else
			put(line, " %s", clause);
		return;
	}
	put(line, has(event, "reason") ? " for '%s'" : " for an unknown reason%s",
	    has(event, "reason") ? reason : "");
}

/* Writes a suspend or resume: what, on which GPUs, why, how long after the cause, how long it
 * took. */
static void put_act(struct text_line *line, const json_t *event, const char *kind)
{
	const char *held_by = strcmp(kind, "suspend") == 0 ? "suspended" : "resumed";

	put_process(line, event);
	put(line, has(event, "error") ? " could not be %s" : " %s", held_by);
	put_gpus(line, event);
	put_reason(line, event);
	put_us(line, event, "latency_us", ", ", " after the cause");
	put_us(line, event, "duration_us", ", took ", "");
	put(line, ", level %s", field_text(event, "level"));
	if (has(event, "error"))
		put(line, ": %s", field_text(event, "error"));
}

static void put_priority(struct text_line *line, const json_t *event)
{
	char priority[FIELD_BYTES];

	if (has(event, "priority"))
		put(line, "priority %s", field_integer(priority, event, "priority"));
	else
		put(line, "no priority");
}

/* Writes a change of the policy: of one GPU, or of all GPUs without a policy of their own. */
static void put_policy(struct text_line *line, const json_t *event)
{
	char gpu[GPU_NAME_SHORT], percent[FIELD_BYTES];

	put(line, "policy %s", field_text(event, "policy"));
	if (has(event, "share_percent"))
		put(line, " with %s %%", field_integer(percent, event, "share_percent"));
	if (has(event, "gpu_id"))
		put(line, " on GPU %s",
		    gpus_short(gpu,
			       (uint32_t)json_integer_value(json_object_get(event, "gpu_id"))));
	else
		put(line, " on all GPUs without their own policy");
	put_by(line, event);
}

/* Writes an event of a kind that only a newer daemon knows: all of its keys and values. */
static void put_unknown(struct text_line *line, json_t *event, const char *kind)
{
	const char *key;
	json_t *value;

	put(line, "%s", kind);
	json_object_foreach(event, key, value)
	{
		char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

		if (strcmp(key, "number") != 0 && strcmp(key, "time_us") != 0 &&
		    strcmp(key, "kind") != 0)
			put(line, " %s=%s", key, text ? text : "?");
		free(text);
	}
}

const char *event_text(char text[static EVENT_TEXT], json_t *event)
{
	struct text_line line = {.text = text};
	const char *kind = field_text(event, "kind");
	char number[FIELD_BYTES];

	text[0] = '\0';
	if (strcmp(kind, "suspend") == 0 || strcmp(kind, "resume") == 0) {
		put_act(&line, event, kind);
	} else if (strcmp(kind, "came") == 0) {
		put_process(&line, event);
		put(&line, " registered with ");
		put_priority(&line, event);
		put(&line, ", of user %s", field_integer(number, event, "uid"));
	} else if (strcmp(kind, "went") == 0) {
		put_process(&line, event);
		put(&line, " %s", field_text(event, "reason"));
	} else if (strcmp(kind, "level") == 0) {
		put_process(&line, event);
		put(&line, " has level %s", field_text(event, "level"));
		if (has(event, "reason"))
			put(&line, ": %s", field_text(event, "reason"));
	} else if (strcmp(kind, "priority") == 0) {
		put_process(&line, event);
		put(&line, " has ");
		put_priority(&line, event);
		put_by(&line, event);
	} else if (strcmp(kind, "lease") == 0) {
		put_process(&line, event);
		put(&line, json_is_true(json_object_get(event, "leased"))
				   ? " is to be suspended"
				   : " is no longer to be suspended");
	} else if (strcmp(kind, "policy") == 0) {
		put_policy(&line, event);
	} else if (strcmp(kind, "listening") == 0) {
		put(&line, "a subscriber receives the events of the daemon's worker %s",
		    field_integer(number, event, "worker_pid"));
	} else if (strcmp(kind, "lost") == 0) {
		put(&line, "%s events were not read in time and are lost",
		    field_integer(number, event, "count"));
	} else {
		put_unknown(&line, event, kind);
	}
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
