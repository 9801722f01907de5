// SPDX-License-Identifier: MIT
/* kfdsched compare: the comparison as tables with a conclusion, and as JSON. */

#include "cli/record/analysis.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"
#include "common/json_util.h"

#define PAIRS_PRINTED 8u /* pairs of processes that get a sentence about their backlog */

/* ---- conclusion ---- */

/* Adds sentences about which ids both sides have, and whether ids can be predicted. */
static void print_ids(const struct comparison *c, json_t *list, const char *a, const char *b)
{
	if (c->same_process)
		field_print(list, "Both sides are the same process, sampled at two times.");
	if (c->kind[COMPARED_BOTH] == c->count && c->count > 0)
		field_print(
			list,
			"%s and %s have the same %zu queue ids, on the same nodes and of the same "
			"types.",
			a, b, c->count);
	else
		field_print(list,
			    "Of %zu queue ids %zu are the same in both, %zu are another node's or "
			    "type's, %zu are only in %s and %zu only in %s.",
			    c->count, c->kind[COMPARED_BOTH], c->kind[COMPARED_DIFFERS],
			    c->kind[COMPARED_A], a, c->kind[COMPARED_B], b);
	if (c->predictable > 0)
		field_print(
			list,
			"As far as these two runs show, ids can be predicted from one run to the "
			"next: they were the same in both and did not change.");
	else if (c->predictable == 0)
		field_print(list,
			    "Ids cannot be predicted: collect them again in each run, and before "
			    "each suspend.");
	else
		field_print(
			list,
			"Whether ids can be predicted is not known: a side has no queue with an "
			"id, or too few samples.");
}

/* Adds a sentence that compares two backlogs: that of process `a` of the side `more` is larger than
 * that of process `b` of the side `less`. */
static void print_more(json_t *list, const struct analysed_process *a, const char *more,
		       const struct analysed_process *b, const char *less)
{
	double above = backlog_median(&a->backlog), below = backlog_median(&b->backlog);
	char times[48] = "";

	if (below > 0 && above > below)
		snprintf(times, sizeof(times), " (%.1f times as many)", above / below);
	field_print(
		list,
		"More work waited in process %d (%s) of %s than in process %d (%s) of %s: packets "
		"in %.1f %% of the samples against %.1f %%, %.1f against %.1f at the median%s, %llu "
		"against %llu at most.",
		(int)a->pid, a->comm, more, (int)b->pid, b->comm, less,
		100 * backlog_share(&a->backlog), 100 * backlog_share(&b->backlog), above, below,
		times, (unsigned long long)a->backlog.max, (unsigned long long)b->backlog.max);
}

/* Adds a sentence about a process whose backlog is known, for a pair in which the backlog of the
 * second process is not known. */
static void print_alone(json_t *list, const struct analysed_process *p, const char *side)
{
	field_print(
		list,
		"Packets of process %d (%s) of %s waited in %.1f %% of the samples, %.1f at the "
		"median and %llu at most; the other side's backlog is not known.",
		(int)p->pid, p->comm, side, 100 * backlog_share(&p->backlog),
		backlog_median(&p->backlog), (unsigned long long)p->backlog.max);
}

/* Adds a sentence about the backlog of one pair of processes. Returns false if the backlog of
 * neither process is known. */
static bool print_pair(json_t *list, const struct compared_process *p, const char *a, const char *b)
{
	bool known_a = p->a && backlog_known(&p->a->backlog);
	bool known_b = p->b && backlog_known(&p->b->backlog);
	int order;

	if (!known_a && !known_b)
		return false;
	if (!known_a || !known_b) {
		print_alone(list, known_a ? p->a : p->b, known_a ? a : b);
		return true;
	}
	order = backlog_compare(&p->a->backlog, &p->b->backlog);
	if (order > 0)
		print_more(list, p->a, a, p->b, b);
	else if (order < 0)
		print_more(list, p->b, b, p->a, a);
	else
		field_print(
			list,
			"As much work waited in process %d (%s) of %s as in process %d (%s) of %s: "
			"packets in %.1f %% of the samples, %.1f at the median and %llu at most.",
			(int)p->a->pid, p->a->comm, a, (int)p->b->pid, p->b->comm, b,
			100 * backlog_share(&p->a->backlog), backlog_median(&p->a->backlog),
			(unsigned long long)p->a->backlog.max);
	return true;
}

/* Adds for each pair of processes a sentence about which of them had more work waiting. */
static void print_backlog(const struct comparison *c, json_t *list, const char *a, const char *b)
{
	bool any = false;

	for (size_t i = 0; i < c->processes && i < PAIRS_PRINTED; i++)
		any |= print_pair(list, &c->process[i], a, b);
	if (!any)
		field_print(
			list,
			"How many packets waited is not known: the pointers of AQL queues can be "
			"read by the user of the process and by root.");
}

/* Writes the short name of a GPU. If the two sides are from two machines on which the same gpu_id
 * has different names, writes the gpu_id instead. */
static const char *gpu_text(char text[static GPU_NAME_SHORT], const struct comparison *c,
			    uint32_t gpu_id)
{
	const struct gpu_name *a = analysis_gpu(c->a, gpu_id), *b = analysis_gpu(c->b, gpu_id);

	if (a && b && a->index != b->index)
		a = b = NULL;
	return gpu_name_short(text, a ? a : b, gpu_id);
}

/* Adds sentences about the GPUs that both sides would share if they ran at the same time, and
 * whether their compute queues fit into the hardware slots. */
static void print_overlap(const struct comparison *c, json_t *list, const char *a, const char *b)
{
	bool over = false;

	if (c->same_process)
		return;
	if (c->nodes == 0)
		return;
	if (c->shared == 0) {
		field_print(list, "%s and %s share no GPU.", a, b);
		return;
	}
	field_print(list,
		    "Run at the same time they would share %zu GPU%s; equal ids do not conflict, "
		    "because each process has its own ids.",
		    c->shared, c->shared == 1 ? "" : "s");
	for (size_t i = 0; i < c->nodes; i++) {
		const struct compared_node *n = &c->node[i];
		char gpu[GPU_NAME_SHORT];

		if (n->a == 0 || n->b == 0)
			continue;
		gpu_text(gpu, c, n->gpu_id);
		if (n->slots < 0) {
			field_print(list,
				    "GPU %s: %zu and %zu compute queues; its slots are not known.",
				    gpu, n->a, n->b);
			over = true;
		} else if (n->a + n->b > (size_t)n->slots) {
			field_print(list,
				    "GPU %s: %zu and %zu compute queues are more than its %lld "
				    "slots: the queues would be time-sliced, and each switch has a "
				    "cost.",
				    gpu, n->a, n->b, (long long)n->slots);
			over = true;
		}
	}
	if (!over)
		field_print(
			list,
			"On each of these GPUs the compute queues of both fit the slots, so both "
			"compete for the GPU's engines only.");
}

json_t *comparison_conclusion(const struct comparison *c, const char *a, const char *b)
{
	json_t *list = json_array();

	print_ids(c, list, a, b);
	print_backlog(c, list, a, b);
	print_overlap(c, list, a, b);
	return list;
}

/* ---- tables ---- */

static json_t *waiting_ratio(const void *row)
{
	return json_real(backlog_share(row));
}

static json_t *median_packets(const void *row)
{
	return json_real(backlog_median(row));
}

#include "cli/record/comparison.def"

json_t *backlog_json(const struct backlog *b)
{
	return backlog_known(b) ? render_json(fields_backlog, b) : json_null();
}

/* Sets `key` of a row to the short name of a GPU. If gpu_id is 0, the side has no queue, and
 * nothing is set. */
static void set_gpu(json_t *row, const char *key, const struct analysis *side, uint32_t gpu_id)
{
	char gpu[GPU_NAME_SHORT];

	if (gpu_id)
		json_object_set_new(
			row, key,
			json_string(gpu_name_short(gpu, analysis_gpu(side, gpu_id), gpu_id)));
}

/* Sets the cells of one side in the row of a queue. keys[]: names of the cells for the GPU, the
 * type, both together ("0 aql"), and the share of samples in which the queue was present. If the
 * side does not have the queue, its cells stay unknown. */
static void set_side(json_t *row, const char *const keys[4], const struct analysis *side,
		     const struct sampled_queue *queue)
{
	if (!queue) {
		json_object_del(row, keys[3]);
		return;
	}
	set_gpu(row, keys[0], side, queue->gpu_id);
	json_object_set_new(
		row, keys[2],
		json_sprintf("%s %s", field_text(row, keys[0]), field_text(row, keys[1])));
}

static json_t *queue_row(const struct comparison *c, const struct compared_queue *q)
{
	static const char *const words[COMPARED_KINDS] = {"both", "differs", "only A", "only B"};
	static const char *const a[] = {"a_gpu", "a_type", "a_kind", "a_present_ratio"};
	static const char *const b[] = {"b_gpu", "b_type", "b_kind", "b_present_ratio"};
	json_t *row = render_json(fields_compared_queue, q);

	json_object_set_new(row, "process", json_integer((json_int_t)q->process + 1));
	json_object_set_new(row, "in", json_string(words[q->where]));
	set_side(row, a, c->a, q->a);
	set_side(row, b, c->b, q->b);
	return row;
}

/* Returns the row for all queues of a node together. */
static json_t *node_row(const struct comparison *c, const struct compared_node *n)
{
	json_t *row = render_json(fields_compared_node, n);

	json_object_update_new(
		row, json_pack("{ss ss ss}", "process", "all", "context", "all", "id", "all"));
	set_gpu(row, "a_gpu", c->a, n->a_backlog ? n->gpu_id : 0);
	set_gpu(row, "b_gpu", c->b, n->b_backlog ? n->gpu_id : 0);
	return row;
}

/* Prints how many packets waited: for each GPU in all its queues together, then for each queue.
 * Prints nothing if no backlog is known. */
static void show_backlog(const struct comparison *c, const json_t *queues)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < c->nodes; i++)
		if (c->node[i].a_backlog || c->node[i].b_backlog)
			json_array_append_new(rows, node_row(c, &c->node[i]));
	for (size_t i = 0; i < c->count; i++)
		if (c->queue[i].a_backlog || c->queue[i].b_backlog)
			json_array_append(rows, json_array_get(queues, i));
	if (!json_array_size(rows)) {
		json_decref(rows);
		return;
	}
	puts("\nPackets that waited in AQL queues\n");
	render_table(fields_compared_row,
		     "process,context,id,a_gpu,a_backlog.waiting_ratio,"
		     "a_backlog.median_packets,a_backlog.max_packets,b_gpu,"
		     "b_backlog.waiting_ratio,b_backlog.median_packets,"
		     "b_backlog.max_packets",
		     rows, stdout);
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
	json_t *conclusion = comparison_conclusion(c, "A", "B"), *rows = json_array();
	const json_t *statement;
	size_t i;

	show_side('A', &sides[0]);
	show_side('B', &sides[1]);
	putchar('\n');
	for (i = 0; i < c->count; i++)
		json_array_append_new(rows, queue_row(c, &c->queue[i]));
	if (c->count > 0)
		render_table(fields_compared_row,
			     "process,context,id,in,a_kind,a_present_ratio,b_kind,b_present_ratio",
			     json_incref(rows), stdout);
	show_backlog(c, rows);
	json_decref(rows);
	putchar('\n');
	json_array_foreach(conclusion, i, statement) printf("%s\n", json_string_value(statement));
	json_decref(conclusion);
}

/* ---- JSON ---- */

/* Returns one side as JSON: its processes, each with the number of its queues, whether the queues
 * stayed the same, and its backlog. */
static json_t *side_json(const struct side *side)
{
	const struct analysis *a = &side->analysis;
	json_t *processes = json_array();

	for (size_t i = 0; i < a->count; i++) {
		json_t *out = sampling_json(&a->process[i].sampling);

		json_object_del(out, "presence");
		json_object_update_new(out, render_json(fields_compared_process, &a->process[i]));
		json_object_set_new(out, "backlog", backlog_json(&a->process[i].backlog));
		json_array_append_new(processes, out);
	}
	return json_pack("{s:o,s:o,s:o,s:I,s:o,s:o}", "name", plain_json(side->name), "exit_code",
			 json_number(side->exit_code >= 0, side->exit_code), "signal",
			 json_number(side->signal >= 0, side->signal), "samples",
			 (json_int_t)a->samples, "processes", processes, "gpus",
			 gpus_list(a->name, a->names));
}

json_t *compare_json(const struct comparison *c, const struct side sides[2])
{
	json_t *out = render_json(fields_compare, c);

	json_object_update_new(
		out,
		json_pack("{s:o,s:o,s:o,s:o}", "a", side_json(&sides[0]), "b", side_json(&sides[1]),
			  "nodes",
			  render_list(fields_compared_node, c->node, c->nodes, sizeof(*c->node)),
			  "conclusion", comparison_conclusion(c, sides[0].name, sides[1].name)));
	return out;
}
