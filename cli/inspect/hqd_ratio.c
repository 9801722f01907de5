// SPDX-License-Identifier: MIT
#include "cli/inspect/hqd_ratio.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t xccs_of(const struct topology_gpu *gpus, size_t n, uint32_t gpu_id)
{
	const struct topology_gpu *gpu = topology_find(gpus, n, gpu_id);

	return gpu ? gpu->xccs : 0;
}

/* Adds one queue to the counts in *ratio. none_is_zero: all slots were read, so a queue without
 * OBSERVE_HQDS is in no slot. If false, the number of slots of such a queue is not known. */
static void count(struct ratio *ratio, const struct observe_queue *queue, uint32_t xccs,
		  bool none_is_zero)
{
	bool is_known = observe_known(queue, OBSERVE_HQDS), known = is_known || none_is_zero;
	uint64_t hqds = is_known ? queue->field[OBSERVE_HQDS].value : 0;

	if (!observe_is_compute(queue->field[OBSERVE_TYPE].value)) {
		ratio->sdma_queues++;
		ratio->sdma_hqds += (uint32_t)hqds;
		return;
	}
	ratio->queues++;
	ratio->mqds_known &= observe_known(queue, OBSERVE_MQDS);
	ratio->hqds_known &= known;
	if (observe_known(queue, OBSERVE_MQDS))
		ratio->mqds += queue->field[OBSERVE_MQDS].value;
	if (!known)
		return;
	ratio->hqds += hqds;
	ratio->mapped += hqds > 0;
	ratio->idle += hqds == 0;
	if (!hqds)
		return;
	ratio->torn += hqds < xccs;
	if (ratio->mapped == 1 || hqds < ratio->least)
		ratio->least = (uint32_t)hqds;
	if (hqds > ratio->most)
		ratio->most = (uint32_t)hqds;
}

static struct ratio *entry(struct ratio *out, size_t *n, size_t max, uint32_t gpu_id, uint32_t xccs)
{
	for (size_t i = 0; i < *n; i++)
		if (out[i].gpu_id == gpu_id)
			return &out[i];
	if (*n == max)
		return NULL;
	out[*n] = (struct ratio){
		.gpu_id = gpu_id,
		.xccs = xccs,
		.mqds_known = true,
		.hqds_known = true,
	};
	return &out[(*n)++];
}

static int by_gpu(const void *a, const void *b)
{
	uint32_t left = ((const struct ratio *)a)->gpu_id;
	uint32_t right = ((const struct ratio *)b)->gpu_id;

	return (left > right) - (left < right);
}

static size_t sum(const struct observe_list *list, bool none_is_zero,
		  const struct topology_gpu *gpus, size_t n_gpus, struct ratio *out, size_t max,
		  struct ratio *all)
{
	bool first = true;
	size_t n = 0;

	*all = (struct ratio){.mqds_known = true, .hqds_known = true};
	for (size_t i = 0; i < list->count; i++) {
		const struct observe_queue *queue = &list->queue[i];
		uint32_t xccs = xccs_of(gpus, n_gpus, queue->gpu_id);
		struct ratio *one;

		/* Skip the queue, because without the type it can be a compute or an SDMA queue. */
		if (!observe_known(queue, OBSERVE_TYPE))
			continue;
		one = entry(out, &n, max, queue->gpu_id, xccs);
		if (one)
			count(one, queue, xccs, none_is_zero);
		all->xccs = first || all->xccs == xccs ? xccs : 0;
		first = false;
		count(all, queue, xccs, none_is_zero);
	}
	if (n)
		qsort(out, n, sizeof(*out), by_gpu);
	return n;
}

size_t ratio_of(const struct observe_list *list, const struct topology_gpu *gpus, size_t n_gpus,
		struct ratio *out, size_t max, struct ratio *all)
{
	return sum(list, false, gpus, n_gpus, out, max, all);
}

size_t ratio_of_observation(const struct observation *observation, const struct topology_gpu *gpus,
			    size_t n_gpus, struct ratio *out, size_t max, struct ratio *all)
{
	const struct observe_result *mqd = &observation->result[OBSERVE_MQD];
	const struct observe_result *hqd = &observation->result[OBSERVE_HQD];
	bool descriptors = mqd->queried && !mqd->error;

	return sum(descriptors ? &mqd->list : &observation->queues,
		   descriptors && hqd->queried && !hqd->error, gpus, n_gpus, out, max, all);
}

const char *ratio_text(char text[RATIO_TEXT], const struct ratio *ratio)
{
	if (!ratio->hqds_known || !ratio->mapped)
		strcpy(text, "-");
	else if (ratio->least != ratio->most)
		strcpy(text, "mixed");
	else
		snprintf(text, RATIO_TEXT, "1:%" PRIu32, ratio->most);
	return text;
}
