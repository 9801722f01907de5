// SPDX-License-Identifier: MIT
#include "cli/trace/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "cli/output/fields.h"
#include "cli/output/progress.h"
#include "cli/util/command.h"
#include "common/clock.h"

/* Time for which the timeline delays events, because sources deliver late: shared memory is read in
 * intervals, and a log is buffered. */
#define KEEP_NS 1000000000u
#define KEEP_ROOM 16384u

int64_t trace_wall_ns(void)
{
	uint64_t now = clock_ns();

	return (int64_t)(clock_of(CLOCK_REALTIME) - now);
}

void trace_note(struct trace_output *output, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	progress_clear();
	fprintf(stderr, "kfdsched trace: %s\n", text);
	json_array_append_new(output->notes, json_string(text));
}

/* Writes an event of the timeline to the Perfetto file, or to stdout as JSON or text. */
static void write_out(void *context, const struct trace_event *event)
{
	struct trace_output *output = context;
	char text[TRACE_LINE];

	if (output->perfetto) {
		perfetto_add(output->perfetto, event);
	} else if (output->options->json) {
		render_print(trace_json(event, trace_wall_ns()), JSON_COMPACT);
	} else {
		cli_print_error("%s", trace_line(text, event, output->begin_ns));
	}
}

int trace_output_open(struct trace_output *output, const struct trace_options *options)
{
	const char *path = options->perfetto;

	*output = (struct trace_output){.options = options,
					.begin_ns = clock_ns(),
					.file = stdout,
					.notes = json_array(),
					.mutex = PTHREAD_MUTEX_INITIALIZER};
	output->simulated = simulation_read(SIMULATION_PATH, &output->simulation) == 0;
	if (path && strcmp(path, "-") != 0)
		output->file = fopen(path, "we");
	if (!output->file)
		return cli_failed(&cmd_trace, "%s cannot be written: %s", path, strerror(errno));
	if (path)
		output->perfetto = perfetto_begin(output->file);
	output->timeline = timeline_new(KEEP_NS, KEEP_ROOM, write_out, output);
	return CLI_GO_ON;
}

void trace_output_free(struct trace_output *output)
{
	timeline_free(output->timeline);
	json_decref(output->notes);
}

void trace_output_add(struct trace_output *output, const struct trace_event *event)
{
	pthread_mutex_lock(&output->mutex);
	if (event->ns >= output->begin_ns || event->mark != TRACE_POINT)
		timeline_add(output->timeline, event);
	pthread_mutex_unlock(&output->mutex);
}

void trace_output_flush(struct trace_output *output, uint64_t now_ns)
{
	pthread_mutex_lock(&output->mutex);
	timeline_flush(output->timeline, now_ns);
	pthread_mutex_unlock(&output->mutex);
	fflush(output->file);
}

bool trace_output_failed(const struct trace_output *output)
{
	return ferror(output->file) || output->unread;
}

static json_t *hip_left_out(const struct trace_output *output)
{
	return json_pack("{sI sI}", "before", (json_int_t)output->hip_before, "future",
			 (json_int_t)output->hip_future);
}

/* Prints the last line of --json, if lines of HIP's log were left out. */
static void print_left_out(const struct trace_output *output)
{
	if (output->options->json && output->hip_before + output->hip_future > 0)
		render_print(json_pack("{so}", "hip_lines_left_out", hip_left_out(output)),
			     JSON_COMPACT);
}

/* Returns the object at the end of the Perfetto file for its reader: the notes, the clock, the
 * lines of HIP's log that were left out, and whether the GPU is simulated. */
static json_t *about(const struct trace_output *output)
{
	json_t *json =
		json_pack("{sb sO}", "simulated", (int)output->simulated, "notes", output->notes);

	if (output->simulated)
		json_object_set_new(json, "time_scale", json_real(output->simulation.time_scale));
	json_object_set_new(json, "clock", json_string("CLOCK_MONOTONIC"));
	json_object_set_new(json, "time_us_at_0", json_integer(trace_wall_ns() / 1000));
	json_object_set_new(json, "hip_lines_left_out", hip_left_out(output));
	return json;
}

/* Ends and closes the Perfetto file (stdout stays open). Returns 0 or a negative errno. */
static int end_perfetto(struct trace_output *output)
{
	json_t *properties = about(output);
	int error = perfetto_end(output->perfetto, clock_ns(), properties);

	json_decref(properties);
	output->perfetto = NULL;
	if (output->file != stdout && fclose(output->file) != 0 && !error)
		error = -errno;
	return error;
}

int trace_output_end(struct trace_output *output, uint64_t end_ns)
{
	bool to_file = output->file != stdout;
	int error = 0;

	trace_output_flush(output, UINT64_MAX);
	if (output->perfetto)
		error = end_perfetto(output);
	else
		print_left_out(output);
	if (error)
		return cli_failed(&cmd_trace, "%s could not be written: %s",
				  output->options->perfetto, strerror(-error));
	if (ferror(stdout) || output->unread)
		return cli_failed(&cmd_trace, "the reader of the timeline has closed the pipe");
	fprintf(stderr, "kfdsched trace: %zu events of %.1f s%s%s\n",
		timeline_count(output->timeline), (double)(end_ns - output->begin_ns) / 1e9,
		to_file ? " are in " : "", to_file ? output->options->perfetto : "");
	return CLI_DONE;
}
