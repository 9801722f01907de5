// SPDX-License-Identifier: MIT
#include "common/proc_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int proc_maps_find(pid_t pid, const char *name, char *path, size_t size)
{
	char own[32], *line = NULL;
	int found = -ESRCH;
	size_t room = 0;
	FILE *f;

	snprintf(own, sizeof(own), "/proc/%d/maps", (int)pid);
	f = fopen(own, "re");
	if (!f)
		return -errno;
	while (!(found == 1 && !path) && getline(&line, &room, f) > 0) {
		const char *file = strchr(line, '/'), *last = strrchr(line, '/');

		if (found < 0)
			found = 0;
		if (!file || strncmp(last + 1, name, strlen(name)) != 0)
			continue;
		found = 1;
		if (path)
			snprintf(path, size, "%.*s", (int)strcspn(file, "\n"), file);
	}
	free(line);
	fclose(f);
	return found;
}
