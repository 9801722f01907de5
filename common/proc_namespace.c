// SPDX-License-Identifier: MIT
#include "common/proc_namespace.h"

#include <stdio.h>
#include <sys/stat.h>

uint64_t proc_namespace(pid_t pid, const char *kind)
{
	char path[64];
	struct stat st;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	else
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}
