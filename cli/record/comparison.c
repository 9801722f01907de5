// SPDX-License-Identifier: MIT
/* Compares two analyses: pairs their processes in the order of pids, the queues of each pair of
 * processes by id, and the nodes by gpu_id. From these pairs it derives whether ids can be
 * predicted and which nodes both sides use. */
#include "cli/record/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"

void comparison_free(struct comparison *c)
{
	free(c->queue);
	free(c->process);
	memset(c, 0, sizeof(*c));
}

/* ---- queues ---- */

static int by_pid(const void *a, const void *b)
{
	const struct analysed_process *const *x = a, *const *y = b;

	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

/* Returns the processes of an analysis sorted by pid; the caller frees the array. */
static const struct analysed_process **in_order(const struct analysis *a)
{
	const struct analysed_process **list = allocate(a->count, sizeof(const void *));

	for (size_t i = 0; i < a->count; i++)
		list[i] = &a->process[i];
	qsort(list, a->count, sizeof(const void *), by_pid);
	return list;
}

/* Returns true if both queues are on the same node and of the same type. A type that is not known
 * matches every type. */
static bool same_kind(const struct sampled_queue *a, const struct sampled_queue *b)
{
	return a->gpu_id == b->gpu_id && !sampling_types_differ(&a->type, &b->type);
}

static const struct backlog *if_known(const struct backlog *backlog)
{
	return backlog_known(backlog) ? backlog : NULL;
}

/* Returns the backlog of the queue. NULL: it is not known, or the process has no such queue. */
static const struct backlog *backlog_of(const struct analysed_process *p,
					const struct sampled_queue *queue)
{
	const struct analysed_queue *found =
		queue ? analysis_queue(p, queue->context, queue->id) : NULL;

	return found ? if_known(&found->backlog) : NULL;
}

static const char *type_of(const struct sampled_queue *queue)
{
	return queue && queue->type.source != OBSERVE_NO_SOURCE
		       ? observe_type_name(queue->type.value)
		       : NULL;
}

/* Adds the result for one queue id. qa or qb is NULL if that side has no queue with this id. */
static void put(struct comparison *c, size_t process, const struct analysed_process *a,
		const struct analysed_process *b, const struct sampled_queue *qa,
		const struct sampled_queue *qb)
{
	static const char *const names[COMPARED_KINDS] = {"both", "differs", "only_a", "only_b"};
	const struct sampled_queue *one = qa ? qa : qb;
	enum comparison_where where = !qb		  ? COMPARED_A
				      : !qa		  ? COMPARED_B
				      : same_kind(qa, qb) ? COMPARED_BOTH
							  : COMPARED_DIFFERS;

	c->queue[c->count++] = (struct compared_queue){
		.where = where,
		.where_name = names[where],
		.process = process,
		.context = one->context,
		.id = one->id,
		.a = qa,
		.b = qb,
		.a_gpu_id = qa ? qa->gpu_id : 0,
		.b_gpu_id = qb ? qb->gpu_id : 0,
		.a_type = type_of(qa),
		.b_type = type_of(qb),
		.a_share = sampling_share(&a->sampling, qa),
		.b_share = sampling_share(&b->sampling, qb),
		.a_backlog = backlog_of(a, qa),
		.b_backlog = backlog_of(b, qb),
	};
	c->kind[where]++;
}

/* Pairs the queues of two processes by context and id. Both lists are sorted by these, so one pass
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

/* Returns the entry of *c with the gpu_id of `n`; adds it if there is none. There is always room,
 * because each side has at most ANALYSIS_NODES nodes. */
static struct compared_node *node_of(struct comparison *c, const struct analysed_node *n)
{
	for (size_t i = 0; i < c->nodes; i++)
		if (c->node[i].gpu_id == n->gpu_id)
			return &c->node[i];
	c->node[c->nodes] = (struct compared_node){.gpu_id = n->gpu_id, .slots = n->compute_slots};
	return &c->node[c->nodes++];
}

/* Fills c->node with the nodes of both sides: for each node the highest number of compute queues,
 * the backlog and the hardware slots. */
static void join_nodes(struct comparison *c)
{
	for (size_t i = 0; i < c->a->nodes; i++) {
		struct compared_node *node = node_of(c, &c->a->node[i]);

		node->a = c->a->node[i].compute;
		node->a_backlog = if_known(&c->a->node[i].backlog);
	}
	for (size_t i = 0; i < c->b->nodes; i++) {
		struct compared_node *node = node_of(c, &c->b->node[i]);

		node->b = c->b->node[i].compute;
		node->b_backlog = if_known(&c->b->node[i].backlog);
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

/* Returns whether queue ids can be predicted: 1 if every id is the same on both sides and no
 * process changed its queues while it was observed; 0 if not; -1 if it is not known. */
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

void comparison_make(const struct analysis *a, const struct analysis *b, struct comparison *out)
{
	const struct analysed_process none = {0};
	const struct analysed_process **as = in_order(a), **bs = in_order(b);
	size_t most = a->count > b->count ? a->count : b->count;

	memset(out, 0, sizeof(*out));
	out->a = a;
	out->b = b;
	out->queue = allocate(queues_of(a) + queues_of(b), sizeof(*out->queue));
	out->process = allocate(most, sizeof(*out->process));
	out->processes = most;
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
}
