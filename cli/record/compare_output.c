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

/* Adds a row, unless the backlog of both sides is not known. gpu_id 0: the side has no queue. */
static void backlog_row(json_t *rows, const struct comparison *c, json_t *row, uint32_t a_gpu_id,
			const struct backlog *a, uint32_t b_gpu_id, const struct backlog *b)
{
	char gpu[GPU_NAME_SHORT];

	if (a_gpu_id)
		json_object_set_new(
			row, "a_gpu",
			json_string(gpu_name_short(gpu, analysis_gpu(c->a, a_gpu_id), a_gpu_id)));
	if (b_gpu_id)
		json_object_set_new(
			row, "b_gpu",
			json_string(gpu_name_short(gpu, analysis_gpu(c->b, b_gpu_id), b_gpu_id)));
	json_object_set_new(row, "a_backlog", backlog_json(a));
	json_object_set_new(row, "b_backlog", backlog_json(b));
	if (backlog_known(a) || backlog_known(b))
		json_array_append(rows, row);
	json_decref(row);
}

/* Prints how many packets waited: by GPU, all queues together, and by queue; nothing if that is not
 * known of any. */
static void show_backlog(const struct comparison *c)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < c->nodes; i++) {
		const struct compared_node *n = &c->node[i];

		backlog_row(
			rows, c,
			json_pack("{ss ss ss}", "process", "all", "context", "all", "id", "all"),
			backlog_known(n->a_backlog) ? n->gpu_id : 0, n->a_backlog,
			backlog_known(n->b_backlog) ? n->gpu_id : 0, n->b_backlog);
	}
	for (size_t i = 0; i < c->count; i++) {
		const struct compared_queue *q = &c->queue[i];

		backlog_row(rows, c,
			    json_pack("{sI sI sI}", "process", (json_int_t)q->process + 1,
				      "context", (json_int_t)q->context, "id", (json_int_t)q->id),
			    q->a ? q->a->gpu_id : 0, q->a_backlog, q->b ? q->b->gpu_id : 0,
			    q->b_backlog);
	}
	if (json_array_size(rows)) {
		puts("\nPackets that waited in AQL queues\n");
		render_table(fields_backlog_row,
			     "process,context,id,a_gpu,a_backlog.waiting_ratio,"
			     "a_backlog.median_packets,a_backlog.max_packets,b_gpu,"
			     "b_backlog.waiting_ratio,b_backlog.median_packets,"
			     "b_backlog.max_packets",
			     rows, stdout);
	}
	json_decref(rows);
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
