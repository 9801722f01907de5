// SPDX-License-Identifier: MIT
/* kfdsched analyze: evaluates a recording and prints it as five tables and a conclusion. */
#include <stdlib.h>
#include <string.h>

#include "cli/output/fields.h"
#include "cli/record/analysis.h"
#include "cli/util/gpus.h"
#include "cli/util/parse_options.h"
#include "common/allocate.h"
#include "common/json_util.h"
#include "common/text.h"

struct analyze_options {
	const char *dir, *svg;
	bool json;
};

/* ---- processes that used a GPU ---- */

/* Returns `role` if it is one of the roles that the daemon reports, else JSON null. */
static json_t *checked_role(const json_t *role)
{
	static const char *const roles[] = {"online", "offline", "seen"};
	const char *text = json_string_value(role);

	for (size_t i = 0; text && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(text, roles[i]) == 0)
			return json_string(roles[i]);
	return json_null();
}

/* Returns a checked copy of a recording's list of GPU users, because a recording can come from
 * anywhere. Entries without a valid pid are left out, a comm is cut and its control characters are
 * replaced, and an unknown role becomes null. Returns JSON null if `list` is not an array. */
static json_t *gpu_users_read(const json_t *list)
{
	json_t *out = json_is_array(list) ? json_array() : json_null();
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "comm"));
		json_int_t pid = json_integer_value(json_object_get(entry, "pid"));
		char comm[RECORDED_COMM];

		if (pid <= 0 || pid > INT32_MAX || json_array_size(out) == RECORDED_USERS)
			continue;
		snprintf(comm, sizeof(comm), "%s", name ? name : "");
		plain_text(comm);
		json_array_append_new(out, json_pack("{s:I,s:o,s:o}", "pid", pid, "comm",
						     plain_or_null(comm), "role",
						     checked_role(json_object_get(entry, "role"))));
	}
	return out;
}

static bool has(const json_t *list, const json_t *process)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (json_equal(entry, process))
			return true;
	}
	return false;
}

/* Adds a row for `process` to the table. Its cells show whether the process is in the list `begin`
 * and in the list `end`; null if that list is not known. */
static void add_row(json_t *rows, const json_t *process, const json_t *begin, const json_t *end)
{
	json_t *row = json_copy((json_t *)(uintptr_t)process);

	json_object_set_new(row, "begin",
			    json_is_array(begin) ? json_boolean(has(begin, process)) : json_null());
	json_object_set_new(row, "end",
			    json_is_array(end) ? json_boolean(has(end, process)) : json_null());
	json_array_append_new(rows, row);
}

/* Prints a table on stdout: each process, and whether it is in the list `begin` and in the list
 * `end`, which are from gpu_users_read(). */
static void gpu_users_table(const json_t *begin, const json_t *end)
{
	json_t *rows = json_array();
	const json_t *process;
	size_t i;

	json_array_foreach(begin, i, process) add_row(rows, process, begin, end);
	/* A process whose name or role has changed between begin and end has two rows. */
	json_array_foreach(end, i, process)
	{
		if (!has(begin, process))
			add_row(rows, process, begin, end);
	}
	render_table(fields_gpu_user_row, "pid,comm,role,begin,end", rows, stdout);
}

/* ---- as tables ---- */

/* Writes the names of the settings that changed, separated by commas. Returns `text`, or "no" if no
 * setting changed. */
static const char *changed_text(const struct analysed_queue *queue, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned f = 0; f < OBSERVE_FIELDS && n < size; f++)
		if (queue->changed >> f & 1 && analysis_is_setting(f))
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "," : "",
					      observe_field_info(f)->key);
	return n ? text : "no";
}

/* Prints how each queue of the process was configured. The column of contexts is printed only if a
 * queue has a context above 0. The last queue shows that, because queues are sorted by context. */
static void attribute_table(const struct analysis *a, const struct analysed_process *p)
{
	bool contexts = p->queue[p->count - 1].last.context > 0;
	json_t *rows = json_array();
	char changed[512];

	for (size_t i = 0; i < p->count; i++) {
		const struct analysed_queue *queue = &p->queue[i];
		json_t *row = observe_json(&queue->last);

		gpus_set_text(row, a->name, a->names, queue->last.gpu_id);
		json_object_set_new(row, "changed",
				    json_string(changed_text(queue, changed, sizeof(changed))));
		json_array_append_new(rows, row);
	}
	render_table(fields_settings_row,
		     contexts ? "context,id,GPU,type,ring_bytes,ring_address,queue_priority,"
				"percent,cu_bits,cwsr_bytes,mqds,changed"
			      : "id,GPU,type,ring_bytes,ring_address,queue_priority,percent,"
				"cu_bits,cwsr_bytes,mqds,changed",
		     rows, stdout);
}

static void process_line(const struct analysed_process *p)
{
	printf("process %d (%s)", (int)p->pid, p->comm);
	if (p->host_pid > 0 && p->host_pid != p->pid)
		printf(", host's pid %d", (int)p->host_pid);
	printf(", seen from %.1f s to %.1f s\n", p->first_seconds, p->last_seconds);
}

/* Prints which processes used a GPU when the recording began and when it ended. */
static void show_users(const struct recording *r)
{
	json_t *begin = gpu_users_read(json_object_get(recording_head(r), "gpu_processes"));
	json_t *end = gpu_users_read(json_object_get(recording_ended(r), "gpu_processes"));

	printf("\n5. Processes that used a GPU, of any user\n\n");
	if (json_array_size(begin) + json_array_size(end) > 0)
		gpu_users_table(begin, end);
	else
		puts(json_is_array(begin) && json_is_array(end) ? "none" : TABLE_UNKNOWN);
	json_decref(begin);
	json_decref(end);
}

/* Prints the five tables and the conclusion. */
static void show(const struct analysis *a, const struct recording *r)
{
	json_t *words = analysis_conclusion(a);
	const json_t *statement;
	size_t i;

	printf("\n1. Queues over time\n\n");
	if (a->points)
		analysis_chart(a, stdout);
	else
		puts("-");
	printf("\n2. Ids over time\n");
	for (i = 0; i < a->count; i++) {
		putchar('\n');
		process_line(&a->process[i]);
		sampling_counts(&a->process[i].sampling, stdout);
		if (a->process[i].sampling.count > 0)
			sampling_table(&a->process[i].sampling, a->name, a->names, stdout);
	}
	if (a->count == 0)
		puts("\n-");
	printf("\n"
	       "3. Settings of each queue\n");
	for (i = 0; i < a->count; i++) {
		putchar('\n');
		process_line(&a->process[i]);
		if (a->process[i].count > 0)
			attribute_table(a, &a->process[i]);
		else
			puts(TABLE_UNKNOWN);
	}
	if (a->count == 0)
		puts("\n-");
	printf("\n"
	       "4. MQDs and hardware slots (HQDs), highest numbers\n"
	       "\n");
	if (a->nodes)
		analysis_node_table(a);
	else
		puts("-");
	show_users(r);
	printf("\nConclusion\n\n");
	json_array_foreach(words, i, statement) printf("%s\n", json_string_value(statement));
	json_decref(words);
}

/* ---- the recording around it ---- */

/* Prints the facts of the recording itself: which command of kfdsched made it, the recorded
 * command, whether it is complete, and how the command ended. Texts of a recording are not trusted,
 * so control characters are replaced. */
static void show_head(const char *dir, const struct recording *r, const struct analysis *a)
{
	const json_t *head = recording_head(r), *word;
	const char *by = json_string_value(json_object_get(head, "made_by"));
	size_t i;
	char text[256];

	snprintf(text, sizeof(text), "%s", by ? by : "-");
	printf("recording %s, made by kfdsched %s: %zu sample%s", dir, plain_text(text), a->samples,
	       a->samples == 1 ? "" : "s");
	if (json_is_array(json_object_get(head, "command"))) {
		fputs(", of", stdout);
		json_array_foreach(json_object_get(head, "command"), i, word)
		{
			snprintf(text, sizeof(text), "%s",
				 json_is_string(word) ? json_string_value(word) : "?");
			printf(" %s", plain_text(text));
		}
	}
	putchar('\n');
	if (!recording_ended(r))
		puts("The recording was cut off: its last line is missing. The analysis covers the "
		     "part before it.");
	if (recording_damaged(r) > 0)
		printf("%zu line%s could not be read and %s ignored.\n", recording_damaged(r),
		       recording_damaged(r) == 1 ? "" : "s",
		       recording_damaged(r) == 1 ? "is" : "are");
	word = json_object_get(recording_ended(r), "exit_code");
	if (json_is_integer(word))
		printf("The command exited with %" JSON_INTEGER_FORMAT ".\n",
		       json_integer_value(word));
	word = json_object_get(recording_ended(r), "signal");
	if (json_is_integer(word))
		printf("The command was ended by signal %" JSON_INTEGER_FORMAT ".\n",
		       json_integer_value(word));
}

/* Returns the analysis as JSON, with the keys about the recording itself added. */
static json_t *whole_json(const char *dir, const struct recording *r, const struct analysis *a)
{
	json_t *out = analysis_json(a);
	const json_t *head = recording_head(r), *end = recording_ended(r);
	json_t *made_by = json_object_get(head, "made_by");
	json_t *command = json_object_get(head, "command");
	json_t *name = json_string(dir);

	json_object_set_new(out, "recording", name ? name : json_null());
	json_object_set_new(out, "made_by",
			    json_is_string(made_by) ? json_incref(made_by) : json_null());
	json_object_set_new(out, "command",
			    json_is_array(command) ? json_incref(command) : json_null());
	json_object_set_new(out, "complete", json_boolean(end));
	json_object_set_new(out, "damaged_lines", json_integer((json_int_t)recording_damaged(r)));
	json_object_set_new(out, "gpu_processes",
			    json_pack("{s:o,s:o}", "begin",
				      gpu_users_read(json_object_get(head, "gpu_processes")), "end",
				      gpu_users_read(json_object_get(end, "gpu_processes"))));
	static const char *const keys[] = {"reason", "exit_code", "signal"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(end, keys[i]);

		json_object_set_new(out, keys[i],
				    json_is_string(value) || json_is_integer(value)
					    ? json_incref(value)
					    : json_null());
	}
	return out;
}

/* Writes the queue count over time as an SVG plot to the file `path`. Returns the exit code. */
static int write_svg(const char *path, const char *dir, const struct analysis *a)
{
	FILE *out = fopen(path, "we");
	char title[320];

	snprintf(title, sizeof(title), "Queues over time: %.280s", dir);
	if (out)
		analysis_svg(a, title, out);
	return cli_close_output(&cmd_analyze, path, out);
}

int analyze_read(const struct cli_command *cmd, const char *dir, const char *name,
		 struct analysis *a, struct recording **out)
{
	struct recorded_sample sample = {0};
	char why[RECORDING_WHY];
	int code = CLI_DONE;

	if (recording_open(dir, out, why))
		return cli_failed(cmd, "%s", why);
	analysis_nodes(a, json_object_get(recording_head(*out), "nodes"));
	while (recording_next(*out, &sample))
		analysis_add(a, &sample);
	if (a->samples == 0)
		code = cli_failed(cmd,
				  "there is no complete sample in %s: the recording ended before "
				  "the first one, or is damaged",
				  name);
	recorded_sample_free(&sample);
	return code;
}

/* Reads the recording and prints the result. */
static int analyze(const struct analyze_options *options)
{
	struct recording *recording = NULL;
	struct analysis *a = allocate(1, sizeof(*a));
	int code = analyze_read(&cmd_analyze, options->dir, options->dir, a, &recording);

	if (code == CLI_DONE) {
		code = options->svg ? write_svg(options->svg, options->dir, a) : CLI_DONE;
		if (options->json) {
			render_print(whole_json(options->dir, recording, a),
				     JSON_INDENT(2) | JSON_REAL_PRECISION(9));
		} else {
			show_head(options->dir, recording, a);
			show(a, recording);
		}
	}
	recording_close(recording);
	analysis_free(a);
	free(a);
	return code;
}

static int run(int argc, char **argv)
{
	struct analyze_options wanted = {0};
	const struct cli_option options[] = {
		{OPTION_TEXT("svg", &wanted.svg)},
		{OPTION_JSON(&wanted.json)},
		{OPTION_TEXT("directory of a recording", &wanted.dir), .word = true},
		{0},
	};
	int code = options_read(&cmd_analyze, argc, argv, options);

	return code == CLI_GO_ON ? analyze(&wanted) : code;
}

const struct cli_command cmd_analyze = {
	.name = "analyze",
	.summary = "summarize the queues in a recording",
	.usage = "DIR [--svg FILE] [--json]",
	.help = "Reads a directory that monitor --record or record has made, also one that was cut off, and\n"
		"prints: the number of queues over time; their ids, and the share of the samples with each\n"
		"id; the settings of each queue, and whether they changed; the number of hardware slots\n"
		"(HQDs) of a queue, which depends on the number of XCCs; the processes that used a GPU at\n"
		"the begin and at the end, with their role for the daemon; and conclusions.\n"
		"\n"
		"  --svg FILE  plots the number of queues over time\n"
		"  --json      one object; docs/reference/recordings.md describes the keys\n"
		"\n"
		"Examples:\n"
		"  kfdsched analyze run1\n"
		"  kfdsched analyze run1 --json | jq -r '.conclusion[]'\n",
	.run = run,
};
