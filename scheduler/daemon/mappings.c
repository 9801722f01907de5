// SPDX-License-Identifier: MIT
#include "scheduler/daemon/mappings.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MAPPINGS 64u

struct map_range {
	void *start;
	size_t size;
};

/* Lists the shared mappings that this process can write, except the one at `keep`. Returns their
 * number or a negative errno. */
static int writable_mappings(const void *keep, struct map_range out[static MAPPINGS])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char *line = NULL, rights[5];
	size_t room = 0;
	int n = 0, error;

	if (!maps)
		return -errno;
	while (n >= 0 && getline(&line, &room, maps) > 0) {
		if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3 || rights[1] != 'w' ||
		    rights[3] != 's' || start == (unsigned long)(uintptr_t)keep)
			continue;
		if ((uint32_t)n == MAPPINGS)
			n = -E2BIG;
		else
			out[n++] = (struct map_range){(void *)(uintptr_t)start, end - start};
	}
	error = ferror(maps) ? -EIO : 0;
	free(line);
	fclose(maps);
	return error ? error : n;
}

int mappings_unmap(const void *keep)
{
	struct map_range ranges[MAPPINGS];
	int n = writable_mappings(keep, ranges);

	for (int i = 0; i < n; i++)
		if (munmap(ranges[i].start, ranges[i].size) < 0)
			return -errno;
	return n < 0 ? n : 0;
}

int mappings_read_only(const void *keep)
{
	struct map_range ranges[MAPPINGS];
	int n = writable_mappings(keep, ranges);

	for (int i = 0; i < n; i++)
		if (mprotect(ranges[i].start, ranges[i].size, PROT_READ) < 0)
			return -errno;
	return n < 0 ? n : 0;
}
