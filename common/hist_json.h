/* SPDX-License-Identifier: MIT */
/*
 * A histogram as JSON: {"count":N,"sum":S,"max":M,"buckets":[[upper,count],...]}
 * with the empty buckets left out.
 */
#ifndef KFDSHIM_COMMON_HIST_JSON_H
#define KFDSHIM_COMMON_HIST_JSON_H

#include <jansson.h>

#include "common/hist.h"

json_t *hist_to_json(const struct hist *h);		  /* a new reference; NULL: no memory */
int hist_from_json(const json_t *json, struct hist *out); /* -EINVAL: not one */

#endif
