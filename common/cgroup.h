/* SPDX-License-Identifier: MIT */
/*
 * What the text of /proc/PID/cgroup tells. Pure. Threads: any.
 */
#ifndef KFDSHIM_COMMON_CGROUP_H
#define KFDSHIM_COMMON_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_ID 64u /* digits of the id that container runtimes give */

/*
 * The path of the unified hierarchy, or where that is not used (`/`) the first other one
 * that a controller has. Empty: none, or one that does not fit `size`.
 */
void cgroup_path(const char *text, char *out, size_t size);

/* Of the container whose cgroup that path is: container runtimes name it with an id of 64
 * hexadecimal digits; of several the innermost counts. Empty: none. */
void cgroup_container_id(const char *path, char out[static CGROUP_ID + 1]);

/* The next line of the text: its path, and how long that is. *text is behind it then.
 * NULL: there is none. *unified: it is the line of the unified hierarchy. */
const char *cgroup_next(const char **text, size_t *length, bool *unified);

#endif
