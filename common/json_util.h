/* SPDX-License-Identifier: MIT */
/*
 * Values as JSON. A histogram is {"count":N,"sum":S,"max":M,"buckets":[[upper,count],...]}, without
 * the empty buckets; a text from an untrusted source is a string of valid UTF-8. Threads: any.
 */
#ifndef KFDSHIM_COMMON_JSON_UTIL_H
#define KFDSHIM_COMMON_JSON_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/histogram.h"

/* Returns a number, or null if it is not known; a new reference. */
static inline json_t *json_number(bool known, int64_t value)
{
	return known ? json_integer(value) : json_null();
}

/* Returns the histogram as JSON, a new reference; NULL: memory is short. */
json_t *hist_to_json(const struct hist *h);
/* Reads a histogram from JSON. Returns 0, or -EINVAL if it is none; *out is changed in both
 * cases. */
int hist_from_json(const json_t *json, struct hist *out);

/* Returns a JSON string, a new reference. If the text is no UTF-8, the bytes in it that are not
 * ASCII become '?'. NULL: memory is short. */
json_t *plain_json(const char *text);
/* As plain_json(), but JSON null for an empty text and for NULL. */
json_t *plain_or_null(const char *text);
/* Prints as json_dumpf(), in ASCII only: other characters are escaped, so that names keep their
 * value and a terminal cannot obey or hide a part of them. */
int plain_json_print(const json_t *json, FILE *out, size_t flags);
/* Applies plain_text() to all strings in the JSON, but not to keys. */
void plain_json_strings(json_t *json);

#endif
