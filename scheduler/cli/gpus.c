// SPDX-License-Identifier: MIT
#include "scheduler/cli/gpus.h"

#include <stdbool.h>

#include "common/nodes.h"
#include "common/plain_text.h"

/* Returns the names of all GPUs, which are read at the first call. *n: their number. */
static const struct gpu_name *all(size_t *n)
{
	static struct gpu_name names[GPU_NODES_MAX];
	static size_t count;
	static bool is_read;

	if (!is_read)
		count = gpu_names_read("", names, GPU_NODES_MAX);
	is_read = true;
	*n = count;
	return names;
}

const struct gpu_name *gpus_name(uint32_t gpu_id)
{
	size_t n;
	const struct gpu_name *names = all(&n);

	return gpu_name_of(names, n, gpu_id);
}

uint32_t gpus_find(const char *word)
{
	size_t n;
	const struct gpu_name *names = all(&n);

	return gpu_name_find(names, n, word);
}

void gpus_cells(struct table *table, uint32_t gpu_id)
{
	const struct gpu_name *name = gpus_name(gpu_id);
	char text[GPU_NAME_LONG];

	if (name)
		table_cell(table, "%u", name->index);
	else
		table_cell(table, TABLE_UNKNOWN);
	table_cell(table, "%s", name ? gpu_name_long(text, name) : TABLE_UNKNOWN);
}

static json_t *gpu_json(const struct gpu_name *gpu)
{
	return json_pack("{sI sI so so so so sI sI}", "index", (json_int_t)gpu->index, "gpu_id",
			 (json_int_t)gpu->gpu_id, "bdf", plain_or_null(gpu->bdf), "render_minor",
			 gpu->render_minor ? json_integer(gpu->render_minor) : json_null(),
			 "product", plain_or_null(gpu->product), "compute_partition",
			 plain_or_null(gpu->mode), "partition", (json_int_t)gpu->partition,
			 "partitions", (json_int_t)gpu->partitions);
}

json_t *gpus_json(void)
{
	json_t *list = json_array();
	size_t n;
	const struct gpu_name *names = all(&n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, gpu_json(&names[i]));
	return list;
}
