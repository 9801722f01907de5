/* SPDX-License-Identifier: MIT */
/*
 * The machine's GPUs with the names that users know them by (scheduler/kfd/gpu_name.h), for all
 * commands. The list is read once, at the first call, and kept until the process ends.
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_GPUS_H
#define KFDSHIM_CLI_GPUS_H

#include <jansson.h>

#include "scheduler/cli/table.h"
#include "scheduler/kfd/gpu_name.h"

/* Returns the names of a GPU. NULL: this machine has no such GPU. */
const struct gpu_name *gpus_name(uint32_t gpu_id);
/* Returns the gpu_id that `word` means, by the rules of gpu_name_find(); 0: no GPU, or several. */
uint32_t gpus_find(const char *word);
/* Titles of the two columns that gpus_cells() fills at the end of a row. */
#define GPUS_COLUMNS "GPU|<NAME"
/* Adds the cells with the index and the name of a GPU; "-" if the GPU is not known here. */
void gpus_cells(struct table *table, uint32_t gpu_id);
/* Returns all GPUs with all their names as a JSON array (docs/formats.md), owned by the caller.
 * NULL: no memory. */
json_t *gpus_json(void);

#endif
