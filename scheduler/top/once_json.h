/* SPDX-License-Identifier: MIT */
/* One frame as JSON (docs/formats.md). Pure. Threads: none. */
#ifndef KFDSHIM_TOP_ONCE_JSON_H
#define KFDSHIM_TOP_ONCE_JSON_H

#include <jansson.h>

#include "scheduler/top/frame.h"

/* NULL: no memory. */
json_t *once_json(const struct top_frame *frame);

#endif
