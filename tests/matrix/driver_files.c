// SPDX-License-Identifier: MIT
#include "tests/matrix/driver_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

int queues_listed(void)
{
	struct dirent *entry;
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues", getpid());
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

int hqds_active(void)
{
	FILE *f = fopen("/sys/kernel/debug/kfd/hqds", "re");
	unsigned inst, pipe, row, at, words[3];
	bool compute = false;
	char line[256];
	int n = 0;

	if (!f)
		return -errno;
	/* The registers of a slot begin in the line after its name. CP_HQD_ACTIVE is the third one,
	 * after the two of CP_MQD_BASE_ADDR. SDMA slots have other names. */
	while (fgets(line, sizeof(line), f)) {
		if (compute &&
		    sscanf(line, " %x: %x %x %x", &at, &words[0], &words[1], &words[2]) == 4)
			n += words[2] & 1;
		compute = sscanf(line, " Inst %u,  CP Pipe %u, Queue %u", &inst, &pipe, &row) == 3;
	}
	fclose(f);
	return n;
}
