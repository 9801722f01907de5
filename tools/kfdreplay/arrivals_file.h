/* SPDX-License-Identifier: MIT */
/* Reads recorded distances between arrivals from a file (format: docs/reference/kfdreplay.md,
 * "Arrivals"). */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_ARRIVALS_FILE_H
#define KFDSHIM_TOOLS_KFDREPLAY_ARRIVALS_FILE_H

#include "tools/kfdreplay/arrivals.h"

/*
 * Reads a file. Returns 0; the caller then frees *out by arrivals_file_free(). On failure returns a
 * negative errno (-EINVAL: error in the content), writes one sentence without a newline to `error`,
 * and leaves *out empty.
 */
int arrivals_file_read(const char *path, struct arrivals_gaps *out, char *error, size_t error_size);
void arrivals_file_free(struct arrivals_gaps *gaps);

#endif
