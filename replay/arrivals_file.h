/* SPDX-License-Identifier: MIT */
/* Recorded distances between arrivals, from a file: docs/formats.md, "Arrivals". */
#ifndef KFDSHIM_REPLAY_ARRIVALS_FILE_H
#define KFDSHIM_REPLAY_ARRIVALS_FILE_H

#include "replay/arrivals.h"

/* On failure returns a negative errno (-EINVAL: its contents), writes one sentence without a
 * newline to `error`, and leaves *out empty. */
int arrivals_file_read(const char *path, struct arrivals_gaps *out, char *error, size_t error_size);
void arrivals_file_free(struct arrivals_gaps *gaps);

#endif
