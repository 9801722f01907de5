// SPDX-License-Identifier: MIT
#include "common/json_util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

json_t *hist_to_json(const struct hist *h)
{
	json_t *buckets = json_array();

	for (unsigned i = 0; buckets && i < HIST_BUCKETS; i++)
		if (h->buckets[i] != 0)
			json_array_append_new(buckets,
					      json_pack("[I,I]", (json_int_t)hist_bucket_upper(i),
							(json_int_t)h->buckets[i]));
	return json_pack("{s:I,s:I,s:I,s:o}", "count", (json_int_t)h->count, "sum",
			 (json_int_t)h->sum, "max", (json_int_t)h->max, "buckets", buckets);
}

int hist_from_json(const json_t *json, struct hist *out)
{
	json_int_t count, sum, max;
	json_t *buckets, *entry;
	size_t i;

	memset(out, 0, sizeof(*out));
	if (json_unpack((json_t *)json, "{s:I,s:I,s:I,s:o}", "count", &count, "sum", &sum, "max",
			&max, "buckets", &buckets) ||
	    count < 0 || sum < 0 || max < 0 || !json_is_array(buckets))
		return -EINVAL;
	out->count = (uint64_t)count;
	out->sum = (uint64_t)sum;
	out->max = (uint64_t)max;
	json_array_foreach(buckets, i, entry)
	{
		json_int_t upper, n;

		if (json_unpack(entry, "[I,I]", &upper, &n) || upper < 0 || n < 0)
			return -EINVAL;
		out->buckets[hist_bucket((uint64_t)upper)] += (uint64_t)n;
	}
	return 0;
}

/* ---- texts ---- */

json_t *plain_json(const char *text)
{
	json_t *json = json_string(text);
	char *copy = json ? NULL : strdup(text);

	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	if (copy)
		json = json_string(copy);
	free(copy);
	return json;
}

json_t *plain_or_null(const char *text)
{
	return text && text[0] ? plain_json(text) : json_null();
}

int plain_json_print(const json_t *json, FILE *out, size_t flags)
{
	return json_dumpf(json, out, flags | JSON_ENSURE_ASCII);
}

static void make_plain(json_t *string)
{
	char *copy = plain_is(json_string_value(string)) ? NULL : strdup(json_string_value(string));

	if (copy)
		json_string_set(string, plain_text(copy));
	free(copy);
}

void plain_json_strings(json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_string(json))
		make_plain(json);
	json_object_foreach(json, key, value) plain_json_strings(value);
	json_array_foreach(json, i, value) plain_json_strings(value);
}
