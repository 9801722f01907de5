/* SPDX-License-Identifier: MIT */
/*
 * The names by which users know GPUs (kfd/gpu_name.h), for all commands. The list of this machine
 * is read once, at the first call, and kept until the process ends.
 * Threads: none.
 */
#ifndef KFDSHIM_CLI_UTIL_GPUS_H
#define KFDSHIM_CLI_UTIL_GPUS_H

#include "cli/output/fields.h"
#include "kfd/gpu_name.h"

/* ---- GPUs of this machine ---- */

/* Returns the names of all GPUs, owned by this module. *n: their number. */
const struct gpu_name *gpus_all(size_t *n);
/* Returns the names of a GPU. NULL: this machine has no such GPU. */
const struct gpu_name *gpus_name(uint32_t gpu_id);
/* Writes the short name of a GPU: "0", or "[GPU_ID]" if this machine has no such GPU. Returns
 * `text`. */
const char *gpus_short(char text[static GPU_NAME_SHORT], uint32_t gpu_id);
/* Returns the gpu_id of the GPU that `word` names: a gpu_id, an index, a PCI address or a render
 * node (gpu_name_find()). Returns 0 if no GPU or several GPUs match. */
uint32_t gpus_find(const char *word);
/* Return the text of a table cell: the index, the long name or the short name of the GPU whose id
 * is "gpu_id" in the row; "-" if that is not known. */
const char *gpus_index_cell(char text[FIELD_CELL], const json_t *row);
const char *gpus_name_cell(char text[FIELD_CELL], const json_t *row);
const char *gpus_short_cell(char text[FIELD_CELL], const json_t *row);
/* Returns all GPUs with all their names as a JSON array (docs/reference/objects.md, A GPU as
 * kfdsched names it), owned by the caller. */
json_t *gpus_json(void);

/* ---- GPUs of any machine ---- */

/* gpus_set_text() stores the short name of a GPU under "GPU" in the row of a table.
 * gpus_text_cell() returns the text stored there, for the cell. */
void gpus_set_text(json_t *row, const struct gpu_name *names, size_t n, uint32_t gpu_id);
const char *gpus_text_cell(char text[FIELD_CELL], const json_t *row);
/* Returns the names of one GPU as a JSON object, owned by the caller. */
json_t *gpus_entry(const struct gpu_name *name);
/* Returns a list of GPUs as a JSON array, owned by the caller. */
json_t *gpus_list(const struct gpu_name *names, size_t n);
/* Adds the names of a GPU to `object`, which already has the gpu_id. Each is null if `name` is
 * NULL. */
void gpus_add(json_t *object, const struct gpu_name *name);
/* Reads the names of a GPU that gpus_entry() or gpus_add() has written. The JSON can come from
 * anywhere: control characters become '?', and texts are cut. Returns false if `entry` has no valid
 * gpu_id or index. */
bool gpus_read(const json_t *entry, struct gpu_name *out);

#endif
