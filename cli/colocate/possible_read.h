/* SPDX-License-Identifier: MIT */
/*
 * Reads the request times that kfdreplay --request-times writes (docs/reference/kfdreplay.md).
 */
#ifndef KFDSHIM_CLI_COLOCATE_POSSIBLE_READ_H
#define KFDSHIM_CLI_COLOCATE_POSSIBLE_READ_H

#include "cli/colocate/possible.h"

struct request_list {
	struct request_time *times; /* NULL: none were measured */
	size_t count;
};

/*
 * Reads the file at `path`. Times must not decrease within a line, nor arrivals from line to line.
 * On success the caller frees the list by request_list_free(); on an error *out is empty.
 *
 * Returns 0, -EINVAL if the file is not as documented, or another negative errno.
 */
int request_list_read(const char *path, struct request_list *out);
/* Frees the list. *list is empty afterwards. */
void request_list_free(struct request_list *list);

#endif
