// SPDX-License-Identifier: MIT
/* kfdsched compare: compares two recordings, two running processes, or one of each. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/plain_text.h"
#include "scheduler/cli/comparison.h"
#include "scheduler/cli/options.h"
#include "scheduler/cli/stop.h"
#include "scheduler/cli/table.h"
#include "scheduler/observe/process.h"

/* Samples of a running process: enough to see whether its queues change all the time. */
#define LIVE_SAMPLES 5u
#define LIVE_NS UINT64_C(200000000)

struct side {
	char name[128];			 /* the user's word for it, for messages */
	const char *dir;		 /* of the recording; NULL: a process */
	struct process_identity process; /* pid 0: the side is a recording */
	struct observer *observer;
	struct observation observation;
	struct analysis analysis;
};

/* ---- a recording ---- */

/* Reads a whole recording into the analysis. One that was cut off or is damaged is used as far as
 * it can be read. */
static int read_recording(struct side *side)
{
	struct recorded_sample sample = {0};
	struct recording *recording;
	char why[RECORDING_WHY];
	int rc = recording_open(side->dir, &recording, why);

	if (rc)
		return cli_failed(&verb_compare, "%s", why);
	analysis_nodes(&side->analysis, json_object_get(recording_head(recording), "nodes"));
	while ((rc = recording_next(recording, &sample)) > 0 &&
	       (rc = analysis_add(&side->analysis, &sample)) == 0)
		;
	if (rc == 0 && (!recording_ended(recording) || recording_damaged(recording) > 0))
		fprintf(stderr,
			"kfdsched compare: %s was cut off or damaged; what can be read of "
			"it is compared\n",
			side->name);
	recorded_sample_free(&sample);
	recording_close(recording);
	if (rc < 0)
		return cli_failed(&verb_compare, "cannot read %s: %s", side->name, strerror(-rc));
	if (side->analysis.samples == 0)
		return cli_failed(&verb_compare,
				  "there is no whole sample in %s: it was ended before the first "
				  "one, or is damaged",
				  side->name);
	return CLI_DONE;
}

/* ---- a process ---- */

/* Prepares to sample a running process. */
static int open_process(struct side *side, const char *socket)
{
	const struct observe_options options = {.pid = side->process.pid, .socket = socket};
	json_t *nodes = recording_nodes();

	analysis_nodes(&side->analysis, nodes);
	json_decref(nodes);
	side->observer = observe_open(&options);
	return side->observer ? CLI_DONE : cli_failed(&verb_compare, "no memory");
}

/* Takes one sample of a running process and adds it to the analysis. */
static int look(struct side *side, double seconds)
{
	struct recorded_process process = {.pid = side->process.pid,
					   .started = side->process.started};
	const struct recorded_sample sample = {
		.phase = RECORDED_SAMPLE, .seconds = seconds, .process = &process, .count = 1};
	const char *unknown;
	int rc = observe_sample(side->observer, &side->observation);

	if (rc == -ESRCH)
		return cli_failed(&verb_compare, "process %d has ended meanwhile",
				  (int)side->process.pid);
	if (rc)
		return cli_failed(&verb_compare, "cannot look at process %d: %s",
				  (int)side->process.pid, strerror(-rc));
	/* The list stays owned by the observation; analysis_add() copies from it. */
	process.queues = *recorded_best(&side->observation, &process.source, &unknown);
	if (process.source == OBSERVE_NOBODY)
		return cli_failed(&verb_compare, "nobody knows the queues of process %d (%s): %s",
				  (int)side->process.pid, side->process.comm, unknown);
	snprintf(process.comm, sizeof(process.comm), "%s", side->process.comm);
	process.host_pid = side->observation.host_pid;
	return analysis_add(&side->analysis, &sample)
		       ? cli_failed(&verb_compare, "no memory for a sample")
		       : CLI_DONE;
}

/* Samples the sides that are running processes, both at the same time. A signal to stop ends it
 * early, but not before the first sample. */
static int watch(struct side *sides)
{
	uint64_t began = clock_ns();

	for (unsigned n = 0; n < LIVE_SAMPLES; n++) {
		if (stop_sleep_until(began + n * LIVE_NS) && n > 0)
			return CLI_DONE;
		for (unsigned i = 0; i < 2; i++) {
			int code = sides[i].dir
					   ? CLI_DONE
					   : look(&sides[i], (double)(clock_ns() - began) / 1e9);

			if (code != CLI_DONE)
				return code;
		}
	}
	return CLI_DONE;
}

/* ---- a recording or a process ---- */

/* Opens a side. A number is a process; a directory whose name is a number has to be written with a
 * slash (./4711). */
static int take_side(const char *word, const char *socket, struct side *side)
{
	char sentence[PROCESS_SENTENCE];
	int pid, rc;

	snprintf(side->name, sizeof(side->name), "%s", word);
	plain_text(side->name);
	if (word[0] == '\0' || word[strspn(word, "0123456789")] != '\0') {
		side->dir = word;
		return read_recording(side);
	}
	pid = cli_pid(word);
	if (pid == 0)
		return cli_usage(&verb_compare, "'%s' is neither a process id nor a folder", word);
	rc = process_read(pid, &side->process);
	if (rc == -ESRCH)
		return cli_failed(&verb_compare,
				  "there is no process %d; a folder of that name is ./%d", pid,
				  pid);
	if (rc)
		return cli_failed(&verb_compare, "%s", process_sentence(sentence, pid, rc));
	snprintf(side->name, sizeof(side->name), "process %d", pid);
	return open_process(side, socket);
}

/* ---- output ---- */

/* Share of samples in which the queue was present; "-" if the side does not have it. */
static void share_cell(struct table *table, const struct sampled_queue *queue, double share)
{
	if (queue)
		table_cell(table, "%.1f %%", 100 * share);
	else
		table_cell(table, "%s", TABLE_UNKNOWN);
}

/* GPU and type of a queue: "0 aql". */
static const char *kind_of(const struct side *side, const struct sampled_queue *queue,
			   char text[64])
{
	char gpu[GPU_NAME_SHORT];

	if (!queue)
		return TABLE_UNKNOWN;
	gpu_name_short(gpu, analysis_gpu(&side->analysis, queue->gpu_id), queue->gpu_id);
	snprintf(text, 64, "%s %s", gpu,
		 queue->type.source == OBSERVE_NOBODY ? TABLE_UNKNOWN
						      : observe_type_name(queue->type.value));
	return text;
}

/* Adds the three cells of a backlog: share of samples with a packet, median, maximum. */
static void backlog_cells(struct table *table, const struct backlog *backlog)
{
	if (!backlog_known(backlog)) {
		for (unsigned i = 0; i < 3; i++)
			table_cell(table, "%s", TABLE_UNKNOWN);
		return;
	}
	table_cell(table, "%.1f %%", 100 * backlog_share(backlog));
	table_cell(table, "%.1f", backlog_median(backlog));
	table_cell(table, "%llu", (unsigned long long)backlog->max);
}

/* Adds the GPU of a queue; 0: the side does not have the queue. */
static void gpu_cell(struct table *table, const struct analysis *side, uint32_t gpu_id)
{
	char gpu[GPU_NAME_SHORT];

	if (gpu_id)
		table_cell(table, "%s", gpu_name_short(gpu, analysis_gpu(side, gpu_id), gpu_id));
	else
		table_cell(table, "%s", TABLE_UNKNOWN);
}

/* Adds the rows of the GPUs with a known backlog, all queues of a GPU together. Returns their
 * number. */
static size_t gpu_rows(struct table *table, const struct comparison *c)
{
	size_t rows = 0;

	for (size_t i = 0; i < c->nodes; i++) {
		const struct compared_node *n = &c->node[i];

		if (!backlog_known(n->a_backlog) && !backlog_known(n->b_backlog))
			continue;
		rows++;
		table_row(table);
		for (unsigned k = 0; k < 3; k++)
			table_cell(table, "all");
		gpu_cell(table, c->a, backlog_known(n->a_backlog) ? n->gpu_id : 0);
		backlog_cells(table, n->a_backlog);
		gpu_cell(table, c->b, backlog_known(n->b_backlog) ? n->gpu_id : 0);
		backlog_cells(table, n->b_backlog);
	}
	return rows;
}

/* Prints how many packets waited, by GPU and by queue; nothing if that is not known of any. */
static void show_backlog(const struct comparison *c)
{
	struct table *table = table_new("PROCESS|CONTEXT|QUEUE|A: GPU|WAITING|MEDIAN|MOST|"
					"B: GPU|WAITING|MEDIAN|MOST");
	size_t rows = table ? gpu_rows(table, c) : 0;

	for (size_t i = 0; table && i < c->count; i++) {
		const struct compared_queue *q = &c->queue[i];

		if (!backlog_known(q->a_backlog) && !backlog_known(q->b_backlog))
			continue;
		rows++;
		table_row(table);
		table_cell(table, "%zu", q->process + 1);
		table_cell(table, "%u", q->context);
		table_cell(table, "%u", q->id);
		gpu_cell(table, c->a, q->a ? q->a->gpu_id : 0);
		backlog_cells(table, q->a_backlog);
		gpu_cell(table, c->b, q->b ? q->b->gpu_id : 0);
		backlog_cells(table, q->b_backlog);
	}
	if (rows > 0) {
		puts("\nPackets that waited in AQL queues\n");
		table_print(table, stdout);
	}
	table_free(table);
}

/* Prints what a side is: its processes and how many queues they had. */
static void show_side(char letter, const struct side *side)
{
	const struct analysis *a = &side->analysis;

	printf("%c: %s, %zu sample%s, %zu process%s\n", letter, side->name, a->samples,
	       a->samples == 1 ? "" : "s", a->count, a->count == 1 ? "" : "es");
	for (size_t i = 0; i < a->count; i++) {
		printf("   process %d (%s) ", (int)a->process[i].pid, a->process[i].comm);
		sampling_counts(&a->process[i].sampling, stdout);
	}
}

/* Prints the comparison as text. */
static void show(const struct comparison *c, const struct side *sides)
{
	static const char *const words[COMPARED_KINDS] = {"both", "differs", "only A", "only B"};
	struct table *table =
		table_new("PROCESS|CONTEXT|QUEUE|<IN|<A: GPU, TYPE|PRESENT|<B: GPU, TYPE|PRESENT");
	json_t *conclusion = comparison_conclusion(c, "A", "B");
	const json_t *sentence;
	char text[64];
	size_t i;

	show_side('A', &sides[0]);
	show_side('B', &sides[1]);
	putchar('\n');
	for (i = 0; table && i < c->count; i++) {
		const struct compared_queue *q = &c->queue[i];

		table_row(table);
		table_cell(table, "%zu", q->process + 1);
		table_cell(table, "%u", q->context);
		table_cell(table, "%u", q->id);
		table_cell(table, "%s", words[q->where]);
		table_cell(table, "%s", kind_of(&sides[0], q->a, text));
		share_cell(table, q->a, q->a_share);
		table_cell(table, "%s", kind_of(&sides[1], q->b, text));
		share_cell(table, q->b, q->b_share);
	}
	if (table && c->count > 0)
		table_print(table, stdout);
	table_free(table);
	show_backlog(c);
	putchar('\n');
	json_array_foreach(conclusion, i, sentence) printf("%s\n", json_string_value(sentence));
	json_decref(conclusion);
}

/* Opens both sides, samples those that run, compares them and prints the result. */
static int compare(const char *const *words, const char *socket, bool json)
{
	struct side *sides = calloc(2, sizeof(*sides));
	struct comparison *c = calloc(1, sizeof(*c));
	int code = CLI_FAILED;

	if (!sides || !c) {
		cli_failed(&verb_compare, "no memory");
		goto out;
	}
	for (unsigned i = 0; i < 2; i++) {
		code = take_side(words[i], socket, &sides[i]);
		if (code != CLI_DONE)
			goto out;
	}
	if (!sides[0].dir || !sides[1].dir)
		code = watch(sides);
	if (code != CLI_DONE)
		goto out;
	code = comparison_make(&sides[0].analysis, &sides[1].analysis, c)
		       ? cli_failed(&verb_compare, "no memory to compare them")
		       : CLI_DONE;
	if (code == CLI_DONE && json) {
		json_t *out = comparison_json(c, sides[0].name, sides[1].name);

		plain_json_print(out, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
		putchar('\n');
		json_decref(out);
	} else if (code == CLI_DONE) {
		show(c, sides);
	}
	comparison_free(c);
out:
	for (unsigned i = 0; sides && i < 2; i++) {
		observe_close(sides[i].observer);
		observation_free(&sides[i].observation);
		analysis_free(&sides[i].analysis);
	}
	free(sides);
	free(c);
	return code;
}

static int run(int argc, char **argv)
{
	const char *socket = NULL, *words[2] = {NULL};
	bool as_json = false;
	const struct verb_option options[] = {
		{OPTION_JSON(&as_json)},
		{OPTION_SOCKET(&socket)},
		{OPTION_TEXT("folder or process id", &words[0]), .word = true},
		{OPTION_TEXT("second folder or process id", &words[1]), .word = true},
		{0},
	};
	int code = options_read(&verb_compare, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	code = stop_begin();
	if (code)
		return cli_failed(&verb_compare, "cannot listen for signals: %s", strerror(-code));
	return compare(words, socket, as_json);
}

const struct verb verb_compare = {
	.name = "compare",
	.summary = "two runs or two processes: are ids the same, where does work wait",
	.usage = "DIR|PID DIR|PID [--json] [--socket PATH]",
	.help = "Compares the queues of two recordings (monitor --record, record), of two processes that\n"
		"run, which are looked at for a second, or of one of each: ids that both have or only one,\n"
		"counts, types and whether they stayed; whether ids can be foretold from one run to the\n"
		"next; how many packets waited, in how many of the samples, at the median and at most, and\n"
		"which process had more work waiting; whether both use the same GPUs, and whether their\n"
		"compute queues fit the slots.\n"
		"Processes of a recording are compared in the order of their pids.\n"
		"\n"
		"  --json         docs/formats.md names the keys\n"
		"  --socket PATH  where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                 /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched compare run1 run2\n"
		"  kfdsched compare 4711 4712 --json | jq .ids_predictable\n",
	.run = run,
};
