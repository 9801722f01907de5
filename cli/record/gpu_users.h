/* SPDX-License-Identifier: MIT */
/*
 * The processes that use a GPU, as a recording keeps them from its begin and its end: an array of
 * {"pid", "comm", "role"} (docs/reference/recordings.md, Recordings), or JSON null where it is not
 * known which processes there are.
 *
 * Threads: none. Ownership: the caller owns the JSON that is returned; NULL: no memory.
 */
#ifndef KFDSHIM_CLI_RECORD_GPU_USERS_H
#define KFDSHIM_CLI_RECORD_GPU_USERS_H

#include <jansson.h>

/* Reads which processes use a GPU now, at most 1024, sorted by pid. The role is that of the daemon
 * at `socket`; JSON null if no daemon replies or if it does not know the process. */
json_t *gpu_users_now(const char *socket);
/* Copies the list of a recording, which can come from anywhere: entries without a valid pid are
 * left out, a comm is cut and its control characters are replaced, an unknown role becomes null. */
json_t *gpu_users_read(const json_t *list);
/* Prints a table on stdout: each process, and whether it is in the list `begin` and in the list
 * `end`, which are from gpu_users_read(). Returns 0 or -ENOMEM. */
int gpu_users_table(const json_t *begin, const json_t *end);

#endif
