// SPDX-License-Identifier: MIT
/* kfdsched compare: the comparison as tables with a conclusion, and as JSON. */
#include <stdio.h>

#include "cli/output/table.h"
#include "cli/record/compare.h"

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
		 queue->type.source == OBSERVE_NO_SOURCE ? TABLE_UNKNOWN
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

/* Prints what a side is: its processes and how many queues they had, and how a recorded command
 * ended, unless it exited with 0. */
static void show_side(char letter, const struct side *side)
{
	const struct analysis *a = &side->analysis;

	printf("%c: %s, %zu sample%s, %zu process%s", letter, side->name, a->samples,
	       a->samples == 1 ? "" : "s", a->count, a->count == 1 ? "" : "es");
	if (side->signal > 0)
		printf(", ended by signal %d", side->signal);
	else if (side->exit_code > 0)
		printf(", exited with %d", side->exit_code);
	putchar('\n');
	for (size_t i = 0; i < a->count; i++) {
		printf("   process %d (%s) ", (int)a->process[i].pid, a->process[i].comm);
		sampling_counts(&a->process[i].sampling, stdout);
	}
}

void compare_show(const struct comparison *c, const struct side sides[2])
{
	static const char *const words[COMPARED_KINDS] = {"both", "differs", "only A", "only B"};
	struct table *table =
		table_new("PROCESS|CONTEXT|QUEUE|<IN|<A: GPU, TYPE|PRESENT|<B: GPU, TYPE|PRESENT");
	json_t *conclusion = comparison_conclusion(c, "A", "B");
	const json_t *statement;
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
	json_array_foreach(conclusion, i, statement) printf("%s\n", json_string_value(statement));
	json_decref(conclusion);
}

json_t *compare_json(const struct comparison *c, const struct side sides[2])
{
	json_t *out = comparison_json(c, sides[0].name, sides[1].name);

	for (unsigned i = 0; i < 2; i++) {
		json_t *side = json_object_get(out, i ? "b" : "a");
		const int exit_code = sides[i].exit_code, signal = sides[i].signal;

		json_object_set_new(side, "exit_code",
				    exit_code < 0 ? json_null() : json_integer(exit_code));
		json_object_set_new(side, "signal",
				    signal < 0 ? json_null() : json_integer(signal));
	}
	return out;
}
