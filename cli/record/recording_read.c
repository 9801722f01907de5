// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/record/record.h"
#include "common/allocate.h"
#include "common/proc_file.h"
#include "common/text.h"

/* Longest line that is accepted. 60 processes with 1000 queues each need less. */
#define LINE_MAX_BYTES ((size_t)64 << 20)

struct recording {
	int dir;
	FILE *index;
	char *line;
	size_t room;
	json_t *head, *end;
	size_t damaged;
};

void recorded_sample_free(struct recorded_sample *sample)
{
	for (size_t i = 0; i < sample->room; i++)
		observe_list_free(&sample->process[i].queues);
	free(sample->process);
	*sample = (struct recorded_sample){0};
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	if (r->index)
		fclose(r->index);
	if (r->dir >= 0)
		close(r->dir);
	json_decref(r->head);
	json_decref(r->end);
	free(r->line);
	free(r);
}

const json_t *recording_head(const struct recording *r)
{
	return r->head;
}

const json_t *recording_ended(const struct recording *r)
{
	return r->end;
}

size_t recording_damaged(const struct recording *r)
{
	return r->damaged;
}

/* Reads the next line into r->line. Returns its length; 0 at the end; -EINVAL for an empty line;
 * -E2BIG if the line is too long (it is skipped). */
static ssize_t next_line(struct recording *r)
{
	size_t n = 0;
	bool too_long = false;
	int c;

	while ((c = getc_unlocked(r->index)) != EOF && c != '\n') {
		if (n + 1 >= r->room && !too_long) {
			r->room = r->room ? 2 * r->room : 65536;
			r->line = allocated(realloc(r->line, r->room));
		}
		too_long = too_long || n >= LINE_MAX_BYTES;
		if (!too_long)
			r->line[n++] = (char)c;
	}
	if (too_long)
		return -E2BIG;
	if (n == 0 && c == EOF)
		return 0;
	return (ssize_t)n ? (ssize_t)n : -EINVAL;
}

int recording_open(const char *dir, struct recording **out, char why[RECORDING_WHY])
{
	struct recording *r = allocate(1, sizeof(*r));
	int rc, fd;

	*out = NULL;
	r->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir < 0) {
		rc = -errno;
		snprintf(why, RECORDING_WHY, "cannot read the recording %.200s: %s", dir,
			 rc == -ENOTDIR ? "it is not a directory" : strerror(-rc));
		goto failed;
	}
	fd = plain_file_open(r->dir, RECORDING_INDEX);
	if (fd < 0) {
		rc = fd;
		snprintf(why, RECORDING_WHY, "%.200s is not a recording: its %s %s%s", dir,
			 RECORDING_INDEX,
			 rc == -ENOENT	 ? "is missing"
			 : rc == -ELOOP	 ? "is a link, which is not followed"
			 : rc == -EINVAL ? "is not a regular file"
					 : "cannot be read: ",
			 rc == -ENOENT || rc == -ELOOP || rc == -EINVAL ? "" : strerror(-rc));
		goto failed;
	}
	r->index = allocated(fdopen(fd, "r"));
	ssize_t bytes = next_line(r);

	r->head = bytes > 0 ? json_loadb(r->line, (size_t)bytes, 0, NULL) : NULL;
	const json_t *version = json_object_get(r->head, "kfdsched_recording");

	if (!json_is_integer(version)) {
		rc = -EINVAL;
		snprintf(why, RECORDING_WHY,
			 "%.200s is not a recording of kfdsched: its %s has another header", dir,
			 RECORDING_INDEX);
		goto failed;
	}
	if (json_integer_value(version) != RECORDING_VERSION) {
		rc = -EPROTO;
		snprintf(why, RECORDING_WHY,
			 "the recording %.200s has version %" JSON_INTEGER_FORMAT
			 ", and this kfdsched reads version %d; use the kfdsched that made it",
			 dir, json_integer_value(version), RECORDING_VERSION);
		goto failed;
	}
	*out = r;
	return 0;
failed:
	recording_close(r);
	return rc;
}

/* ---- reading samples ---- */

/* Copies a JSON string with its control characters replaced; writes "" for any other value. */
static void take_text(char *out, size_t size, const json_t *text)
{
	snprintf(out, size, "%s", json_is_string(text) ? json_string_value(text) : "");
	plain_text(out);
}

/* Reads a number of 0 to `max`. A missing key and null give 0. Returns 0 or -EINVAL. */
static int take_number(const json_t *object, const char *key, json_int_t max, json_int_t *out)
{
	const json_t *value = json_object_get(object, key);

	*out = 0;
	if (!value || json_is_null(value))
		return 0;
	*out = json_integer_value(value);
	return json_is_integer(value) && *out >= 0 && *out <= max ? 0 : -EINVAL;
}

/* Decodes one process of a sample. Returns 0, or -EINVAL if a value is missing or not allowed. */
static int take_process(const json_t *json, struct recorded_process *out)
{
	const json_t *queues = json_object_get(json, "queues"), *queue;
	const char *source = json_string_value(json_object_get(json, "source"));
	json_int_t pid, host_pid, started;
	size_t i;

	if (take_number(json, "pid", INT32_MAX, &pid) || pid == 0 ||
	    take_number(json, "host_pid", INT32_MAX, &host_pid) ||
	    take_number(json, "started_ticks", INT64_MAX, &started) || !json_is_array(queues))
		return -EINVAL;
	out->pid = (pid_t)pid;
	out->host_pid = (pid_t)host_pid;
	out->started = (uint64_t)started;
	take_text(out->comm, sizeof(out->comm), json_object_get(json, "comm"));
	take_text(out->unknown, sizeof(out->unknown), json_object_get(json, "unknown"));
	out->source = observe_source_of(source);
	if (source && out->source == OBSERVE_NO_SOURCE)
		return -EINVAL;
	observe_list_clear(&out->queues);
	json_array_foreach(queues, i, queue)
	{
		if (observe_from_json(queue, observe_list_add(&out->queues)))
			return -EINVAL;
	}
	return 0;
}

/* Decodes the line of one sample. Returns 0, or -EINVAL if a value is missing or not allowed. */
static int take_sample(const json_t *line, struct recorded_sample *out)
{
	static const char *const phases[] = {"baseline", "sample", "final"};
	const json_t *processes = json_object_get(line, "processes"), *process;
	const json_t *seconds = json_object_get(line, "seconds");
	const char *phase = json_string_value(json_object_get(line, "phase"));
	size_t count = json_array_size(processes), i;

	out->count = 0;
	if (!json_is_array(processes) || !json_is_number(seconds) || !phase)
		return -EINVAL;
	out->seconds = json_number_value(seconds);
	for (i = 0; i < 3 && strcmp(phase, phases[i]) != 0;)
		i++;
	if (i == 3 || !isfinite(out->seconds) || out->seconds < 0)
		return -EINVAL;
	out->phase = (enum recorded_phase)i;
	if (count > out->room) {
		out->process = allocated(reallocarray(out->process, count, sizeof(*out->process)));
		memset(out->process + out->room, 0, (count - out->room) * sizeof(*out->process));
		out->room = count;
	}
	json_array_foreach(processes, i, process)
	{
		int rc = take_process(process, &out->process[i]);

		if (rc)
			return rc;
		out->count++;
	}
	return 0;
}

bool recording_next(struct recording *r, struct recorded_sample *sample)
{
	ssize_t bytes;

	while ((bytes = next_line(r)) != 0) {
		json_t *line = bytes > 0 ? json_loadb(r->line, (size_t)bytes, 0, NULL) : NULL;
		json_t *end = json_object_get(line, "end");
		bool is_sample = false;

		if (json_is_object(end) && !r->end) {
			r->end = json_incref(end);
		} else if (take_sample(line, sample)) {
			r->damaged++;
		} else {
			is_sample = !end;
		}
		json_decref(line);
		if (is_sample)
			return true;
	}
	return false;
}
