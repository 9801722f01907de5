// SPDX-License-Identifier: MIT
#include "cli/util/gpus.h"

#include "cli/util/objects.h"
#include "common/nodes.h"

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

static uint32_t id_of(const json_t *row)
{
	json_int_t gpu_id = json_integer_value(json_object_get(row, "gpu_id"));

	return gpu_id > 0 && gpu_id <= UINT32_MAX ? (uint32_t)gpu_id : 0;
}

const char *gpus_index_cell(char text[FIELD_CELL], const json_t *row)
{
	const struct gpu_name *name = gpus_name(id_of(row));

	if (!name)
		return TABLE_UNKNOWN;
	snprintf(text, FIELD_CELL, "%u", name->index);
	return text;
}

const char *gpus_name_cell(char text[FIELD_CELL], const json_t *row)
{
	const struct gpu_name *name = gpus_name(id_of(row));

	return name ? gpu_name_long(text, name) : TABLE_UNKNOWN;
}

const char *gpus_short_cell(char text[FIELD_CELL], const json_t *row)
{
	return id_of(row) ? gpus_short(text, id_of(row)) : TABLE_UNKNOWN;
}

const char *gpus_text_cell(char text[FIELD_CELL], const json_t *row)
{
	(void)text;
	return field_text(row, "GPU");
}

void gpus_set_text(json_t *row, const struct gpu_name *names, size_t n, uint32_t gpu_id)
{
	char text[GPU_NAME_SHORT];

	gpu_name_short(text, gpu_name_of(names, n, gpu_id), gpu_id);
	json_object_set_new(row, "GPU", json_string(text));
}

json_t *gpus_entry(const struct gpu_name *gpu)
{
	return render_json(fields_gpu, gpu);
}

json_t *gpus_list(const struct gpu_name *names, size_t n)
{
	return render_list(fields_gpu, names, n, sizeof(*names));
}

json_t *gpus_json(void)
{
	size_t n;
	const struct gpu_name *names = gpus_all(&n);

	return gpus_list(names, n);
}

void gpus_add(json_t *object, const struct gpu_name *name)
{
	for (const struct field *field = fields_gpu_names + 1; !field_is_end(field); field++)
		json_object_set_new(object, field->key, json_null());
	if (name)
		json_object_update_new(object, render_json(fields_gpu_names, name));
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
