/* SPDX-License-Identifier: MIT */
/*
 * The machine's GPUs by the names that people use (scheduler/kfd/gpu_name.h), for every verb: read
 * once, at the first question. Threads: none.
 */
#ifndef KFDSHIM_CLI_GPUS_H
#define KFDSHIM_CLI_GPUS_H

#include <jansson.h>

#include "scheduler/cli/table.h"
#include "scheduler/kfd/gpu_name.h"

/* NULL: there is no such GPU here. */
const struct gpu_name *gpus_name(uint32_t gpu_id);
/* As gpu_name_find(). */
uint32_t gpus_find(const char *word);
/* For the columns GPUS_COLUMNS at the end of a row: its index and its name. */
#define GPUS_COLUMNS "GPU|<NAME"
void gpus_cells(struct table *table, uint32_t gpu_id);
/* All of them, with all names (docs/formats.md). NULL: no memory. */
json_t *gpus_json(void);

#endif
