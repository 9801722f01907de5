/* SPDX-License-Identifier: MIT */
/*
 * Values as JSON. A histogram is {"count":N,"sum":S,"max":M,"buckets":[[upper,count],...]}, without the
 * empty buckets. Threads: any.
 */
#ifndef KFDSHIM_COMMON_JSON_UTIL_H
#define KFDSHIM_COMMON_JSON_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
