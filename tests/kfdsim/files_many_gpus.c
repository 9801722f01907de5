// SPDX-License-Identifier: MIT
/*
 * Three queues on each GPU there is: kfd/proc lists them all, and each is active
 * in one hardware slot of every XCC; once they are destroyed nothing is.
 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "conform/lab.h"

#define GPUS_MAX 64u
#define QUEUES 3u
#define WORDS_A_LINE 8

static unsigned listed(void)
{
	struct dirent *entry;
	char path[64];
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/sys/class/kfd/kfd/proc/%d/queues", getpid());
	dir = opendir(path);
	CHECK(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* Compute slots whose CP_HQD_ACTIVE, the third register, is set. */
static unsigned active_hqds(void)
{
	FILE *f = fopen("/sys/kernel/debug/kfd/hqds", "re");
	unsigned n = 0, inst, pipe, row, number, base[3];
	bool compute = false;
	char line[256];

	CHECK(f);
	while (fgets(line, sizeof line, f)) {
		if (compute &&
		    sscanf(line, " %x: %x %x %x", &number, &base[0], &base[1], &base[2]) == 4)
			n += base[2] == 1;
		compute = sscanf(line, " Inst %u,  CP Pipe %u, Queue %u", &inst, &pipe, &row) == 3;
	}
	fclose(f);
	return n;
}

int main(void)
{
	static struct gpu_file gpus[GPUS_MAX];
	static struct raw_queue queues[GPUS_MAX][QUEUES];
	struct kfdabi_machine machine;
	unsigned wanted = 0;

	CHECK_IS(lab_machine(&machine), 0);
	CHECK(machine.nodes <= GPUS_MAX);
	gpu_open(&gpus[0]);
	for (unsigned i = 1; i < machine.nodes; i++)
		gpu_open_too(&gpus[i], &gpus[0], i);
	for (unsigned i = 0; i < machine.nodes; i++)
		for (unsigned k = 0; k < QUEUES; k++) {
			queue_new(&gpus[i], &queues[i][k]);
			wanted += gpus[i].shape.xccs;
		}
	CHECK_IS(listed(), QUEUES * machine.nodes);
	CHECK_IS(active_hqds(), wanted);
	printf("%u queues, %u active HQDs\n", listed(), active_hqds());
	for (unsigned i = 0; i < machine.nodes; i++)
		for (unsigned k = 0; k < QUEUES; k++)
			CHECK_IS(queue_destroy(&gpus[i], queues[i][k].id), 0);
	CHECK_IS(listed(), 0);
	CHECK_IS(active_hqds(), 0);
	return 0;
}
