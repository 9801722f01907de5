// SPDX-License-Identifier: MIT
/* Counts the queues of a recording, sample by sample. */
#include "cli/record/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "cli/inspect/hqd_ratio.h"
#include "cli/util/gpus.h"
#include "common/allocate.h"

/* Drops every second value, and from now on keeps only half as many samples. The values are sorted
 * by size, so the median hardly changes. */
static void thin_out(struct backlog *b)
{
	for (size_t i = 0; i < b->count / 2; i++)
		b->recorded[i] = b->recorded[2 * i + 1];
	b->count /= 2;
	b->every *= 2;
}

void backlog_add(struct backlog *b, uint64_t packets)
{
	size_t at;

	if (b->every == 0)
		b->every = 1;
	b->samples++;
	b->waiting += packets > 0;
	if (packets > b->max)
		b->max = packets;
	if ((b->samples - 1) % b->every != 0)
		return;
	if (b->count == BACKLOG_SAMPLES)
		thin_out(b);
	b->recorded = allocate_next(b->recorded, b->count, &b->room, sizeof(*b->recorded));
	for (at = b->count++; at > 0 && b->recorded[at - 1] > packets; at--)
		b->recorded[at] = b->recorded[at - 1];
	b->recorded[at] = packets;
}

void backlog_free(struct backlog *b)
{
	free(b->recorded);
	*b = (struct backlog){0};
}

bool backlog_known(const struct backlog *b)
{
	return b && b->samples > 0;
}

double backlog_share(const struct backlog *b)
{
	return backlog_known(b) ? (double)b->waiting / (double)b->samples : 0;
}

double backlog_median(const struct backlog *b)
{
	if (!b || b->count == 0)
		return 0;
	return ((double)b->recorded[(b->count - 1) / 2] + (double)b->recorded[b->count / 2]) / 2;
}

int backlog_compare(const struct backlog *a, const struct backlog *b)
{
	const double left[] = {backlog_median(a), backlog_share(a), a ? (double)a->max : 0};
	const double right[] = {backlog_median(b), backlog_share(b), b ? (double)b->max : 0};

	for (unsigned i = 0; i < 3; i++)
		if (left[i] < right[i] || left[i] > right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* ---- a recording ---- */

#define PACKET_BYTES 64u /* size of an AQL packet */

void analysis_free(struct analysis *a)
{
	for (size_t i = 0; i < a->count; i++) {
		struct analysed_process *p = &a->process[i];

		for (size_t q = 0; q < p->count; q++)
			backlog_free(&p->queue[q].backlog);
		sampling_free(&p->sampling);
		backlog_free(&p->backlog);
		free(p->queue);
	}
	for (size_t i = 0; i < a->nodes; i++)
		backlog_free(&a->node[i].backlog);
	free(a->process);
	memset(a, 0, sizeof(*a));
}

bool analysis_is_setting(enum observe_field field)
{
	switch (field) {
	case OBSERVE_WPTR:
	case OBSERVE_RPTR:
	case OBSERVE_BACKLOG_BYTES:
	case OBSERVE_ACTIVE:
	case OBSERVE_SUSPENDED:
	case OBSERVE_HQDS:
	case OBSERVE_HQD_XCCS:
	case OBSERVE_EXCEPTIONS:
		return false;
	default:
		return true;
	}
}

/* Adds the packets that wait in the queue to *packets. Returns false if their number is not known.
 * It is known for AQL queues only, because only these have packets of one size. */
static bool add_packets(const struct observe_queue *queue, uint64_t *packets)
{
	if (!observe_known(queue, OBSERVE_BACKLOG_BYTES) || !observe_known(queue, OBSERVE_TYPE) ||
	    queue->field[OBSERVE_TYPE].value != OBSERVE_AQL)
		return false;
	*packets += queue->field[OBSERVE_BACKLOG_BYTES].value / PACKET_BYTES;
	return true;
}

/* ---- nodes ---- */

/* Returns the node with this gpu_id, which is added if it is new. Returns NULL if there is no
 * room. */
static struct analysed_node *node_of(struct analysis *a, uint32_t gpu_id)
{
	for (size_t i = 0; i < a->nodes; i++)
		if (a->node[i].gpu_id == gpu_id)
			return &a->node[i];
	if (a->nodes == ANALYSIS_NODES)
		return NULL;
	a->node[a->nodes] =
		(struct analysed_node){.gpu_id = gpu_id, .compute_slots = -1, .xccs = -1};
	return &a->node[a->nodes++];
}

/* Returns the value of `key` if that is an integer above 0, else -1 for "not known". */
static int64_t positive(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) && json_integer_value(value) > 0 ? json_integer_value(value)
								       : -1;
}

void analysis_nodes(struct analysis *a, const json_t *nodes)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(nodes, i, entry)
	{
		int64_t gpu_id = positive(entry, "gpu_id");
		struct analysed_node *node =
			gpu_id > 0 && gpu_id <= UINT32_MAX ? node_of(a, (uint32_t)gpu_id) : NULL;

		if (!node)
			continue;
		node->compute_slots = positive(entry, "compute_slots");
		node->xccs = positive(entry, "xccs");
		if (a->gpus < TOPOLOGY_GPUS && node->xccs > 0 && node->xccs <= UINT32_MAX)
			a->gpu[a->gpus++] = (struct topology_gpu){.gpu_id = (uint32_t)gpu_id,
								  .xccs = (uint32_t)node->xccs};
		if (a->names < TOPOLOGY_GPUS)
			a->names += gpus_read(entry, &a->name[a->names]);
	}
}

const struct gpu_name *analysis_gpu(const struct analysis *a, uint32_t gpu_id)
{
	return gpu_name_of(a->name, a->names, gpu_id);
}

/* Counts of one sample on one node, all processes together. */
struct queue_sums {
	size_t queues, compute, mapped;
	uint64_t mqds, hqds;
	size_t in_xcc[ANALYSIS_XCCS];
	bool known;
	uint64_t packets;   /* packets that wait in AQL queues */
	bool packets_known; /* `packets` is known for at least one queue */
};

static void count_xccs(struct queue_sums *sums, const struct observe_queue *queue)
{
	const struct observe_value *xccs = &queue->field[OBSERVE_HQD_XCCS];

	for (unsigned i = 0; xccs->source != OBSERVE_NO_SOURCE && i < ANALYSIS_XCCS; i++)
		sums->in_xcc[i] += xccs->value >> i & 1;
}

/* Adds the queues of one process to the counts of the sample (`sums`, one entry per node).
 * Hardware slots are counted by the rules of cli/inspect/hqd_ratio.h. */
static void count_queues(struct analysis *a, struct queue_sums *sums,
			 const struct observe_list *list)
{
	struct ratio ratio[ANALYSIS_NODES], all;
	size_t count = ratio_of(list, a->gpu, a->gpus, ratio, ANALYSIS_NODES, &all);

	for (size_t i = 0; i < list->count; i++) {
		const struct analysed_node *node = node_of(a, list->queue[i].gpu_id);

		if (node) {
			struct queue_sums *t = &sums[node - a->node];

			t->queues++;
			count_xccs(t, &list->queue[i]);
			t->packets_known |= add_packets(&list->queue[i], &t->packets);
		} else {
			a->unkept++;
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct analysed_node *node = node_of(a, ratio[i].gpu_id);
		struct queue_sums *t = node ? &sums[node - a->node] : NULL;

		if (!t)
			continue;
		t->compute += ratio[i].queues;
		if (!ratio[i].hqds_known)
			continue;
		t->known = true;
		t->mqds += ratio[i].mqds;
		t->hqds += ratio[i].hqds;
		t->mapped += ratio[i].mapped;
		if (ratio[i].mapped == 0)
			continue;
		if (node->least == 0 || ratio[i].least < node->least)
			node->least = ratio[i].least;
		if (ratio[i].most > node->most)
			node->most = ratio[i].most;
	}
}

/* Updates the maxima and the backlog of each node from the counts of one sample. The numbers of
 * hardware slots are all taken from one sample, that with the most HQDs, so that they belong to one
 * moment. */
static void keep_counts(struct analysis *a, const struct queue_sums *sums)
{
	for (size_t i = 0; i < a->nodes; i++, sums++) {
		struct analysed_node *node = &a->node[i];

		if (sums->queues > node->queues)
			node->queues = sums->queues;
		if (sums->compute > node->compute)
			node->compute = sums->compute;
		if (sums->packets_known)
			backlog_add(&node->backlog, sums->packets);
		if (!sums->known || (node->hqds_known && sums->hqds <= node->hqds))
			continue;
		node->hqds_known = true;
		node->mqds = sums->mqds;
		node->hqds = sums->hqds;
		node->mapped = sums->mapped;
		memcpy(node->in_xcc, sums->in_xcc, sizeof(node->in_xcc));
	}
}

/* ---- processes ---- */

/* Returns the process with the pid and start time of `seen`; adds it if there is none. */
static struct analysed_process *process_of(struct analysis *a, const struct recorded_process *seen)
{
	for (size_t i = a->count; i-- > 0;)
		if (a->process[i].pid == seen->pid && a->process[i].started == seen->started)
			return &a->process[i];
	a->process = allocate_next(a->process, a->count, &a->room, sizeof(*a->process));
	struct analysed_process *p = &a->process[a->count++];

	*p = (struct analysed_process){.pid = seen->pid, .started = seen->started};
	return p;
}

/* Returns the index of the queue with this SAMPLING_KEY() (context and id), or, if there is none,
 * the index at which it has to be inserted. Searches in halves, because p->queue is sorted. */
static size_t place_of(const struct analysed_process *p, uint64_t key)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct observe_queue *there = &p->queue[middle].last;

		if (SAMPLING_KEY(there->context, there->id) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct analysed_queue *analysis_queue(const struct analysed_process *p, uint32_t context,
					    uint32_t id)
{
	size_t at = place_of(p, SAMPLING_KEY(context, id));

	return at < p->count && p->queue[at].last.context == context && p->queue[at].last.id == id
		       ? &p->queue[at]
		       : NULL;
}

/* Returns the queue with the context and id of `seen`. Inserts it if there is none, so that the
 * queues stay sorted by context and id. */
static struct analysed_queue *queue_of(struct analysed_process *p, const struct observe_queue *seen)
{
	size_t low = place_of(p, SAMPLING_KEY(seen->context, seen->id));

	if (analysis_queue(p, seen->context, seen->id))
		return &p->queue[low];
	p->queue = allocate_next(p->queue, p->count, &p->room, sizeof(*p->queue));
	memmove(&p->queue[low + 1], &p->queue[low], (p->count - low) * sizeof(p->queue[0]));
	p->count++;
	p->queue[low] = (struct analysed_queue){.last = *seen};
	return &p->queue[low];
}

/* Updates the record of a queue from one sample. A queue without an id is ignored, because it
 * cannot be followed from sample to sample. */
static void take_queue(struct analysed_process *p, const struct observe_queue *seen)
{
	uint64_t packets = 0;

	if (seen->id == OBSERVE_NO_ID)
		return;
	struct analysed_queue *queue = queue_of(p, seen);

	if (add_packets(seen, &packets))
		backlog_add(&queue->backlog, packets);
	if (queue->last.gpu_id != seen->gpu_id)
		queue->last.gpu_id = seen->gpu_id;
	queue->last.source_mask |= seen->source_mask;
	for (unsigned f = 0; f < OBSERVE_FIELDS; f++) {
		const struct observe_value *now = &seen->field[f], *then = &queue->last.field[f];
		bool is_type = f == OBSERVE_TYPE;

		if (now->source == OBSERVE_NO_SOURCE)
			continue;
		if (is_type ? sampling_types_differ(then, now)
			    : then->source != OBSERVE_NO_SOURCE && then->value != now->value)
			queue->changed |= 1u << f;
		/* sysfs reports only "compute", which must not replace a more precise type. */
		else if (is_type && now->value == OBSERVE_COMPUTE &&
			 then->source != OBSERVE_NO_SOURCE)
			continue;
		queue->last.field[f] = *now;
	}
}

/* Adds one sample to the backlog of the process: the packets that wait in all its AQL queues
 * together. Adds nothing if the packets are known for none of the queues. */
static void take_backlog(struct analysed_process *p, const struct observe_list *list)
{
	uint64_t packets = 0;
	bool known = false;

	for (size_t i = 0; i < list->count; i++)
		known |= add_packets(&list->queue[i], &packets);
	if (known)
		backlog_add(&p->backlog, packets);
}

/* Adds one process of a sample: times, name, ids, settings and backlog of its queues. */
static void take_process(struct analysis *a, const struct recorded_process *seen, double seconds)
{
	struct analysed_process *p = process_of(a, seen);

	if (p->sampling.samples + p->sampling.unknown == 0)
		p->first_seconds = seconds;
	p->last_seconds = seconds;
	p->host_pid = seen->host_pid;
	/* An exec changes the name, so keep the name of the latest sample. */
	memcpy(p->comm, seen->comm, sizeof(p->comm));
	sampling_add(&p->sampling, &seen->queues, seen->source);
	take_backlog(p, &seen->queues);
	for (size_t i = 0; i < seen->queues.count && p->count < SAMPLING_QUEUES; i++)
		take_queue(p, &seen->queues.queue[i]);
}

/* ---- the course of the count ---- */

/* Merges a later point of the curve into an earlier one. */
static void join(struct analysed_point *into, const struct analysed_point *other)
{
	into->to = other->to;
	if (other->min < into->min)
		into->min = other->min;
	if (other->max > into->max)
		into->max = other->max;
}

/* Adds a sample to the curve. When all points are used, neighbours are merged in pairs, and each
 * point stands for twice as many samples. So the curve always covers the whole recording. */
static void add_point(struct analysis *a, double seconds, size_t queues)
{
	const struct analysed_point now = {
		.from = seconds, .to = seconds, .min = queues, .max = queues};

	if (a->per_point == 0)
		a->per_point = 1;
	if (a->points > 0 && a->in_point < a->per_point) {
		join(&a->point[a->points - 1], &now);
		a->in_point++;
		return;
	}
	if (a->points == ANALYSIS_POINTS) {
		for (size_t i = 0; i < ANALYSIS_POINTS / 2; i++) {
			a->point[i] = a->point[2 * i];
			join(&a->point[i], &a->point[2 * i + 1]);
		}
		a->points = ANALYSIS_POINTS / 2;
		a->per_point *= 2;
	}
	a->point[a->points++] = now;
	a->in_point = 1;
}

/* ---- a sample ---- */

/* Counts the processes that used a GPU, and their queues, in a sample that was taken before or
 * after the recorded command. */
static void take_others(struct analysed_others *out, const struct recorded_sample *sample)
{
	*out = (struct analysed_others){.known = true, .processes = sample->count};
	for (size_t i = 0; i < sample->count; i++)
		out->queues += sample->process[i].queues.count;
}

void analysis_add(struct analysis *a, const struct recorded_sample *sample)
{
	/* Indexed like a->node. */
	struct queue_sums sums[ANALYSIS_NODES] = {0};
	size_t queues = 0, known = 0;

	if (sample->phase != RECORDED_SAMPLE) {
		take_others(sample->phase == RECORDED_FINAL ? &a->after : &a->before, sample);
		return;
	}
	a->samples++;
	for (size_t i = 0; i < sample->count; i++) {
		const struct recorded_process *seen = &sample->process[i];

		if (a->count >= ANALYSIS_PROCESSES) {
			a->unkept++;
			continue;
		}
		take_process(a, seen, sample->seconds);
		known += seen->source != OBSERVE_NO_SOURCE;
		queues += seen->queues.count;
		count_queues(a, sums, &seen->queues);
	}
	keep_counts(a, sums);
	/* If no source reported queues, the count is not known, and the sample adds no point to the
	 * curve. If there was no process, the sample adds a point with 0 queues. */
	if (known > 0 || sample->count == 0)
		add_point(a, sample->seconds, queues);
}
