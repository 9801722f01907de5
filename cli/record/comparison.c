// SPDX-License-Identifier: MIT
/* Compares the queues of two analyses: pairs the queues of each pair of processes by id, then the
 * nodes by gpu_id, and derives from both whether ids can be predicted, where more work waited, and
 * whether slots suffice. */
#include "cli/record/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/fields.h"
#include "cli/util/gpus.h"
#include "cli/util/objects.h"

#define PAIRS_PRINTED 8u /* pairs of processes that get a sentence about their backlog */

void comparison_free(struct comparison *c)
{
	free(c->queue);
	free(c->process);
	memset(c, 0, sizeof(*c));
}

const char *comparison_where_name(enum comparison_where where)
{
	static const char *const names[COMPARED_KINDS] = {
		[COMPARED_BOTH] = "both",
		[COMPARED_DIFFERS] = "differs",
		[COMPARED_A] = "only_a",
		[COMPARED_B] = "only_b",
	};

	return names[where];
}

/* ---- queues ---- */

static int by_pid(const void *a, const void *b)
{
	const struct analysed_process *const *x = a, *const *y = b;

	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

/* Returns the processes of an analysis sorted by pid; the caller frees the array. NULL: no
 * memory. */
static const struct analysed_process **in_order(const struct analysis *a)
{
	const struct analysed_process **list = calloc(a->count + 1, sizeof(const void *));

	for (size_t i = 0; list && i < a->count; i++)
		list[i] = &a->process[i];
	if (list)
		qsort(list, a->count, sizeof(const void *), by_pid);
	return list;
}

/* Returns true if both are on the same node and of the same type. A type that is not known
 * matches. */
static bool same_kind(const struct sampled_queue *a, const struct sampled_queue *b)
{
	if (a->gpu_id != b->gpu_id)
		return false;
	if (a->type.source == OBSERVE_NO_SOURCE || b->type.source == OBSERVE_NO_SOURCE)
		return true;
	/* sysfs reports AQL and PM4 queues alike, as compute. */
	if (a->type.value == OBSERVE_COMPUTE || b->type.value == OBSERVE_COMPUTE)
		return observe_is_compute(a->type.value) == observe_is_compute(b->type.value);
	return a->type.value == b->type.value;
}

/* Returns the share of samples with known ids in which the queue was present. */
static double share_of(const struct sampling *s, const struct sampled_queue *queue)
{
	return queue && s->named ? (double)queue->seen / (double)s->named : 0;
}

/* Returns the backlog of the queue. NULL: the process has no such queue. */
static const struct backlog *backlog_of(const struct analysed_process *p,
					const struct sampled_queue *queue)
{
	const struct analysed_queue *found =
		queue ? analysis_queue(p, queue->context, queue->id) : NULL;

	return found ? &found->backlog : NULL;
}

/* Adds the result for one queue id, of which one side may have none. */
static void put(struct comparison *c, size_t process, const struct analysed_process *a,
		const struct analysed_process *b, const struct sampled_queue *qa,
		const struct sampled_queue *qb)
{
	const struct sampled_queue *one = qa ? qa : qb;
	enum comparison_where where = !qb		  ? COMPARED_A
				      : !qa		  ? COMPARED_B
				      : same_kind(qa, qb) ? COMPARED_BOTH
							  : COMPARED_DIFFERS;

	c->queue[c->count++] = (struct compared_queue){
		.where = where,
		.process = process,
		.context = one->context,
		.id = one->id,
		.a = qa,
		.b = qb,
		.a_share = share_of(&a->sampling, qa),
		.b_share = share_of(&b->sampling, qb),
		.a_backlog = backlog_of(a, qa),
		.b_backlog = backlog_of(b, qb),
	};
	c->kind[where]++;
}

/* Pairs the queues of two processes by context and id. Both lists are sorted by them, so one pass
 * suffices. */
static void pair(struct comparison *c, size_t process, const struct analysed_process *a,
		 const struct analysed_process *b)
{
	const struct sampling *sa = &a->sampling, *sb = &b->sampling;
	size_t i = 0, k = 0;

	while (i < sa->count || k < sb->count) {
		const struct sampled_queue *qa = i < sa->count ? &sa->queue[i] : NULL;
		const struct sampled_queue *qb = k < sb->count ? &sb->queue[k] : NULL;
		uint64_t ka = qa ? SAMPLING_KEY(qa->context, qa->id) : UINT64_MAX;
		uint64_t kb = qb ? SAMPLING_KEY(qb->context, qb->id) : UINT64_MAX;

		put(c, process, a, b, ka <= kb ? qa : NULL, kb <= ka ? qb : NULL);
		i += ka <= kb;
		k += kb <= ka;
	}
}

/* ---- nodes ---- */

/* Finds or adds the node. There is always room: each side has at most ANALYSIS_NODES nodes. */
static struct compared_node *node_of(struct comparison *c, const struct analysed_node *n)
{
	for (size_t i = 0; i < c->nodes; i++)
		if (c->node[i].gpu_id == n->gpu_id)
			return &c->node[i];
	c->node[c->nodes] = (struct compared_node){.gpu_id = n->gpu_id, .slots = n->compute_slots};
	return &c->node[c->nodes++];
}

/* Combines the nodes of both sides, with the most compute queues of each. */
static void join_nodes(struct comparison *c)
{
	for (size_t i = 0; i < c->a->nodes; i++) {
		struct compared_node *node = node_of(c, &c->a->node[i]);

		node->a = c->a->node[i].compute;
		node->a_backlog = &c->a->node[i].backlog;
	}
	for (size_t i = 0; i < c->b->nodes; i++) {
		struct compared_node *node = node_of(c, &c->b->node[i]);

		node->b = c->b->node[i].compute;
		node->b_backlog = &c->b->node[i].backlog;
		/* On two machines, the same gpu_id may be two different GPUs: take the smaller
		 * number of slots. */
		if (c->b->node[i].compute_slots > 0 &&
		    (node->slots < 0 || c->b->node[i].compute_slots < node->slots))
			node->slots = c->b->node[i].compute_slots;
	}
	for (size_t i = 0; i < c->nodes; i++)
		c->shared += c->node[i].a > 0 && c->node[i].b > 0;
}

/* ---- the whole comparison ---- */

/* Returns whether each process kept the same queues throughout: 1 yes, 0 no, -1 not known. */
static int stays(const struct analysis *a)
{
	int all = a->count > 0 ? 1 : -1;

	for (size_t i = 0; i < a->count; i++) {
		switch (sampling_verdict(&a->process[i].sampling)) {
		case SAMPLING_CHANGING:
			return 0;
		case SAMPLING_STABLE:
			break;
		default:
			all = -1;
		}
	}
	return all;
}

/* Returns whether ids can be predicted. They can if every id is the same on both sides and no
 * process changed its queues while it was observed. */
static int foretell(const struct comparison *c)
{
	int a = stays(c->a), b = stays(c->b);

	if (c->count == 0 ||
	    c->kind[COMPARED_A] + c->kind[COMPARED_BOTH] + c->kind[COMPARED_DIFFERS] == 0 ||
	    c->kind[COMPARED_B] + c->kind[COMPARED_BOTH] + c->kind[COMPARED_DIFFERS] == 0)
		return -1;
	if (c->kind[COMPARED_BOTH] < c->count || a == 0 || b == 0)
		return 0;
	return a < 0 || b < 0 ? -1 : 1;
}

static size_t queues_of(const struct analysis *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		n += a->process[i].sampling.count;
	return n;
}

int comparison_make(const struct analysis *a, const struct analysis *b, struct comparison *out)
{
	const struct analysed_process none = {0};
	const struct analysed_process **as = in_order(a), **bs = in_order(b);
	size_t most = a->count > b->count ? a->count : b->count;

	memset(out, 0, sizeof(*out));
	out->a = a;
	out->b = b;
	out->queue = calloc(queues_of(a) + queues_of(b) + 1, sizeof(*out->queue));
	out->process = calloc(most + 1, sizeof(*out->process));
	out->processes = most;
	if (!as || !bs || !out->queue || !out->process) {
		free(as);
		free(bs);
		comparison_free(out);
		return -ENOMEM;
	}
	for (size_t i = 0; i < most; i++) {
		struct compared_process *p = &out->process[i];

		p->a = i < a->count ? as[i] : NULL;
		p->b = i < b->count ? bs[i] : NULL;
		pair(out, i, p->a ? p->a : &none, p->b ? p->b : &none);
	}
	out->same_process = a->count == 1 && b->count == 1 && as[0]->pid == bs[0]->pid &&
			    as[0]->started == bs[0]->started;
	free(as);
	free(bs);
	join_nodes(out);
	out->predictable = foretell(out);
	return 0;
}

/* ---- output ---- */

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

/* Adds a sentence about the backlog of two processes, of which the first one has the larger. `more`
 * and `less`: names of their sides. */
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

/* Adds a sentence about a process with a known backlog beside which there is none. */
static void print_alone(json_t *list, const struct analysed_process *p, const char *side)
{
	field_print(
		list,
		"Packets of process %d (%s) of %s waited in %.1f %% of the samples, %.1f at the "
		"median and %llu at most; the other side's backlog is not known.",
		(int)p->pid, p->comm, side, 100 * backlog_share(&p->backlog),
		backlog_median(&p->backlog), (unsigned long long)p->backlog.max);
}

/* Adds a sentence about the backlog of one pair of processes. Returns false if it is not known of
 * either. */
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

/* Adds sentences about the process that had more work waiting, of each pair of processes. */
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

/* Writes the short name of a GPU. On two machines, the same gpu_id can belong to GPUs with two
 * names; then its gpu_id is written. */
static const char *gpu_text(char text[static GPU_NAME_SHORT], const struct comparison *c,
			    uint32_t gpu_id)
{
	const struct gpu_name *a = analysis_gpu(c->a, gpu_id), *b = analysis_gpu(c->b, gpu_id);

	if (a && b && a->index != b->index)
		a = b = NULL;
	return gpu_name_short(text, a ? a : b, gpu_id);
}

/* Adds sentences about the GPUs that both would share when they run at the same time, and whether
 * their compute queues fit into the hardware slots. */
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

	if (!list)
		return NULL;
	print_ids(c, list, a, b);
	print_backlog(c, list, a, b);
	print_overlap(c, list, a, b);
	return list;
}

static json_t *type_json(const struct sampled_queue *queue)
{
	return queue && queue->type.source != OBSERVE_NO_SOURCE
		       ? json_string(observe_type_name(queue->type.value))
		       : json_null();
}

#include "cli/record/comparison.def"

static json_t *queue_json(const struct compared_queue *q)
{
	json_t *out = render_json(fields_compared_queue, q);

	json_object_update_new(
		out,
		json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "where", comparison_where_name(q->where),
			  "a_gpu_id", q->a ? json_integer((json_int_t)q->a->gpu_id) : json_null(),
			  "b_gpu_id", q->b ? json_integer((json_int_t)q->b->gpu_id) : json_null(),
			  "a_type", type_json(q->a), "b_type", type_json(q->b), "a_backlog",
			  backlog_json(q->a_backlog), "b_backlog", backlog_json(q->b_backlog)));
	return out;
}

/* Describes one side: its processes, each with the number of its queues, whether they stayed, and
 * their backlog. */
static json_t *side_json(const struct analysis *a, const char *name)
{
	json_t *processes = json_array(), *called = json_string(name);

	for (size_t i = 0; i < a->count; i++) {
		json_t *out = sampling_json(&a->process[i].sampling);

		json_object_del(out, "presence");
		json_object_update_new(out, render_json(fields_compared_process, &a->process[i]));
		json_object_set_new(out, "backlog", backlog_json(&a->process[i].backlog));
		json_array_append_new(processes, out);
	}
	return json_pack("{s:o,s:I,s:o,s:o}", "name", called ? called : json_null(), "samples",
			 (json_int_t)a->samples, "processes", processes, "gpus",
			 gpus_list(a->name, a->names));
}

json_t *comparison_json(const struct comparison *c, const char *a, const char *b)
{
	json_t *queues = json_array(), *out = render_json(fields_compare, c);
	json_t *nodes = render_list(fields_compared_node, c->node, c->nodes, sizeof(*c->node));

	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(queues, queue_json(&c->queue[i]));
	for (size_t i = 0; i < c->nodes; i++) {
		json_t *node = json_array_get(nodes, i);

		json_object_set_new(node, "a_backlog", backlog_json(c->node[i].a_backlog));
		json_object_set_new(node, "b_backlog", backlog_json(c->node[i].b_backlog));
	}
	json_object_update_new(out, json_pack("{s:o,s:o,s:o,s:o,s:o}", "a", side_json(c->a, a), "b",
					      side_json(c->b, b), "nodes", nodes, "queues", queues,
					      "conclusion", comparison_conclusion(c, a, b)));
	return out;
}
