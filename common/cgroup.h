/* SPDX-License-Identifier: MIT */
/*
 * Parser of the text of /proc/PID/cgroup. Pure. Threads: any.
 */
#ifndef KFDSHIM_COMMON_CGROUP_H
#define KFDSHIM_COMMON_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_ID 64u /* digits of a container id */

/*
 * Copies the path in the unified hierarchy to `out`; if that hierarchy is not used (path "/"), the
 * first path other than "/" that a controller has. Empty: there is none, or it does not fit in
 * `size` bytes.
 */
void cgroup_path(const char *text, char *out, size_t size);

/* Copies the container id that a cgroup's path contains to `out`: container runtimes name the
 * cgroup by an id of 64 hexadecimal digits. Of several ids it is the innermost. Empty: there is
 * none. */
void cgroup_container_id(const char *path, char out[static CGROUP_ID + 1]);

/* Returns the path in the next line of the text, without a NUL, and its *length, and moves *text
 * behind that line. *unified: the line is that of the unified hierarchy. Returns NULL at the
 * end. */
const char *cgroup_next(const char **text, size_t *length, bool *unified);

#endif
