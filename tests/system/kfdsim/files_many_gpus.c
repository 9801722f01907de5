// SPDX-License-Identifier: MIT
/*
 * Proves, with three queues on each GPU: kfd/proc lists all queues, each one is active in one
 * hardware slot of every XCC, and none is left after the queues are destroyed.
 */
#include "tests/matrix/driver_files.h"
#include "tools/kfdconform/harness/harness.h"

#define GPUS_MAX 64u
#define QUEUES 3u

int main(int argc, char **argv)
{
	static struct gpu_file gpus[GPUS_MAX];
	static struct raw_queue queues[GPUS_MAX][QUEUES];
	struct kfdabi_machine machine;
	unsigned queues_wanted = 0, hqds_wanted = 0;

	CHECK_IS(harness_machine(&machine), 0);
	CHECK(machine.nodes <= GPUS_MAX);
	gpu_open(&gpus[0]);
	for (unsigned i = 1; i < machine.nodes; i++)
		gpu_open_too(&gpus[i], &gpus[0], i);
	for (unsigned i = 0; i < machine.nodes; i++)
		for (unsigned k = 0; k < QUEUES; k++) {
			queue_new(&gpus[i], &queues[i][k]);
			queues_wanted++;
			hqds_wanted += gpus[i].shape.xccs;
		}
	CHECK_IS(queues_listed(), queues_wanted);
	CHECK_IS(hqds_active(), hqds_wanted);
	for (unsigned i = 0; i < machine.nodes; i++)
		for (unsigned k = 0; k < QUEUES; k++)
			CHECK_IS(queue_destroy(&gpus[i], queues[i][k].id), 0);
	CHECK_IS(queues_listed(), 0);
	CHECK_IS(hqds_active(), 0);
	/* An MI308X has four XCCs, so eight of them give 24 queues and 96 active slots. */
	printf("%u queues, %u active HQDs\n", queues_wanted, hqds_wanted);
	if (argc == 3) {
		CHECK_IS(queues_wanted, atoi(argv[1]));
		CHECK_IS(hqds_wanted, atoi(argv[2]));
	}
	return 0;
}
