// SPDX-License-Identifier: MIT
#include "cli/util/gpus.h"

#include <stdio.h>

#include "common/nodes.h"
#include "common/text.h"

const struct gpu_name *gpus_all(size_t *n)
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
	const struct gpu_name *names = gpus_all(&n);

	return gpu_name_of(names, n, gpu_id);
}

const char *gpus_short(char text[static GPU_NAME_SHORT], uint32_t gpu_id)
{
	return gpu_name_short(text, gpus_name(gpu_id), gpu_id);
}

uint32_t gpus_find(const char *word)
{
	size_t n;
	const struct gpu_name *names = gpus_all(&n);

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

void gpus_short_cell(struct table *table, const json_t *entry)
{
	json_int_t gpu_id = json_integer_value(json_object_get(entry, "gpu_id"));
	char text[GPU_NAME_SHORT];

	table_cell(table, "%s",
		   gpu_id > 0 && gpu_id <= UINT32_MAX ? gpus_short(text, (uint32_t)gpu_id)
						      : TABLE_UNKNOWN);
}

json_t *gpus_entry(const struct gpu_name *gpu)
{
	return json_pack("{sI sI so so so so sI sI}", "index", (json_int_t)gpu->index, "gpu_id",
			 (json_int_t)gpu->gpu_id, "bdf", plain_or_null(gpu->bdf), "render_minor",
			 gpu->render_minor ? json_integer(gpu->render_minor) : json_null(),
			 "product", plain_or_null(gpu->product), "compute_partition",
			 plain_or_null(gpu->mode), "partition", (json_int_t)gpu->partition,
			 "partitions", (json_int_t)gpu->partitions);
}

json_t *gpus_list(const struct gpu_name *names, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, gpus_entry(&names[i]));
	return list;
}

json_t *gpus_json(void)
{
	size_t n;
	const struct gpu_name *names = gpus_all(&n);

	return gpus_list(names, n);
}

/* The keys of gpus_entry() without gpu_id. */
static const char *const keys[] = {
	"index", "bdf", "render_minor", "product", "compute_partition", "partition", "partitions"};

void gpus_add(json_t *object, const struct gpu_name *name)
{
	json_t *entry = name ? gpus_entry(name) : NULL;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(entry, keys[i]);

		json_object_set_new(object, keys[i], value ? json_incref(value) : json_null());
	}
	json_decref(entry);
}

static void read_text(const json_t *entry, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(entry, key));

	snprintf(out, size, "%s", text ? text : "");
	plain_text(out);
}

/* Reads a number of 0 to 2^32 - 1. Returns false if the entry has none. */
static bool read_number(const json_t *entry, const char *key, unsigned *out)
{
	const json_t *value = json_object_get(entry, key);
	json_int_t number = json_integer_value(value);

	*out = number >= 0 && number <= UINT32_MAX ? (unsigned)number : 0;
	return json_is_integer(value) && number == *out;
}

bool gpus_read(const json_t *entry, struct gpu_name *out)
{
	*out = (struct gpu_name){0};
	if (!read_number(entry, "gpu_id", &out->gpu_id) || !out->gpu_id ||
	    !read_number(entry, "index", &out->index))
		return false;
	read_number(entry, "render_minor", &out->render_minor);
	read_number(entry, "partition", &out->partition);
	read_number(entry, "partitions", &out->partitions);
	read_text(entry, "bdf", out->bdf, sizeof(out->bdf));
	read_text(entry, "product", out->product, sizeof(out->product));
	read_text(entry, "compute_partition", out->mode, sizeof(out->mode));
	return true;
}
