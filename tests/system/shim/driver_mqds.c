// SPDX-License-Identifier: MIT
#include "tests/system/shim/driver_mqds.h"

#include <stdbool.h>
#include <stdio.h>

/* Rows and columns of the dump (32 bytes a row): CP_HQD_QUEUE_PRIORITY and CP_HQD_PQ_BASE of
 * v9_mqd. The address of the ring is shifted right by 8. */
#define PRIORITY_ROW 0x200u
#define PRIORITY_AT 6
#define RING_ROW 0x220u
#define WORDS 8

int driver_mqds_priority(pid_t pid, uint64_t ring)
{
	FILE *f = fopen("/sys/kernel/debug/kfd/mqds", "re");
	unsigned offset, w[WORDS];
	int process, priority = -1, found = -1;
	bool mine = false, compute = false;
	char line[256];

	if (!f)
		return -1;
	while (found < 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Process %d", &process) == 1)
			mine = process == (int)pid;
		else if (sscanf(line, " Compute queue on device %x", &offset) == 1)
			compute = true;
		else if (sscanf(line, " SDMA queue on device %x", &offset) == 1)
			compute = false;
		if (!mine || !compute ||
		    sscanf(line, " %x: %x %x %x %x %x %x %x %x", &offset, &w[0], &w[1], &w[2],
			   &w[3], &w[4], &w[5], &w[6], &w[7]) != 1 + WORDS)
			continue;
		if (offset == PRIORITY_ROW)
			priority = (int)w[PRIORITY_AT];
		if (offset == RING_ROW && (((uint64_t)w[1] << 32 | w[0]) << 8) == ring)
			found = priority;
	}
	fclose(f);
	return found;
}
