// SPDX-License-Identifier: MIT
#include "common/cgroup.h"

#include <string.h>

const char *cgroup_next(const char **text, size_t *length, bool *unified)
{
	const char *line, *end, *path;

	while (**text) {
		line = *text;
		end = line + strcspn(line, "\n");
		*text = *end ? end + 1 : end;
		/* NUMBER:CONTROLLERS:PATH; the unified hierarchy has no controllers here */
		path = memchr(line, ':', (size_t)(end - line));
		path = path ? memchr(path + 1, ':', (size_t)(end - path - 1)) : NULL;
		if (!path || path[1] != '/')
			continue;
		*length = (size_t)(end - ++path);
		*unified = strncmp(line, "0::", 3) == 0;
		return path;
	}
	return NULL;
}

void cgroup_path(const char *text, char *out, size_t size)
{
	const char *path;
	size_t length;
	bool unified;

	out[0] = '\0';
	while ((path = cgroup_next(&text, &length, &unified))) {
		if (length >= size)
			continue;
		/* "/" only while there is no path; another one only in place of none or "/",
		 * unless it is the unified one. */
		if (length == 1 ? out[0] != '\0' : !unified && out[0] && out[1])
			continue;
		memcpy(out, path, length);
		out[length] = '\0';
		if (unified && length > 1)
			return;
	}
}

void cgroup_container_id(const char *path, char out[static CGROUP_ID + 1])
{
	size_t length;

	out[0] = '\0';
	while (*path) {
		length = strspn(path, "0123456789abcdef");
		if (length == CGROUP_ID) {
			memcpy(out, path, length);
			out[length] = '\0';
		}
		path += length ? length : 1;
	}
}
