/* SPDX-License-Identifier: MIT */
/*
 * Converts values to JSON and back. A histogram is {"count":N,"sum":S,"max":M,"buckets":
 * [[upper,count],...]}, without the empty buckets; a text from an untrusted source becomes a string
 * of valid UTF-8. Threads: any.
 */
#ifndef KFDSHIM_COMMON_JSON_UTIL_H
#define KFDSHIM_COMMON_JSON_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/histogram.h"

/* Returns a JSON number, or JSON null if `known` is false; a new reference. */
static inline json_t *json_number(bool known, int64_t value)
{
	return known ? json_integer(value) : json_null();
}

/* Returns the histogram as JSON, a new reference; NULL: memory is short. */
json_t *hist_to_json(const struct hist *h);
/* Reads a histogram from JSON to *out. Returns 0, or -EINVAL if the JSON is no histogram; *out may
 * be changed then, too. */
int hist_from_json(const json_t *json, struct hist *out);

/* Converts a text to a JSON string. If the text is not valid UTF-8, each byte that is not ASCII
 * becomes '?'. Returns a new reference, or NULL if memory is short. */
json_t *plain_json(const char *text);
/* As plain_json(), but returns JSON null if the text is NULL or empty. */
json_t *plain_or_null(const char *text);
/* Prints the JSON by json_dumpf(), in ASCII only: other characters are escaped. So names keep their
 * value, and a terminal cannot obey or hide a part of them. Returns 0, or -1 on an error. */
int plain_json_print(const json_t *json, FILE *out, size_t flags);
/* Replaces what a terminal interprets or hides in all strings, as plain_text() does, but not in
 * keys. */
void plain_json_strings(json_t *json);

#endif
