/* SPDX-License-Identifier: MIT */
/* The times of requests as kfdreplay --request-times writes them (docs/formats.md). */
#ifndef KFDSHIM_CLI_POSSIBLE_READ_H
#define KFDSHIM_CLI_POSSIBLE_READ_H

#include "scheduler/cli/possible.h"

struct request_list {
	struct request_time *times; /* NULL: none were measured; freed by request_list_free() */
	size_t count;
};

/* 0, or a negative errno with *out empty; -EINVAL: not as documented. */
int request_list_read(const char *path, struct request_list *out);
void request_list_free(struct request_list *list);

#endif
