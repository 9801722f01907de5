// SPDX-License-Identifier: MIT
/*
 * Proves that the driver's files list the runtime's queues correctly. Each GPU gets two queues of
 * this program and one of the runtime, which every generation creates at the first
 * hsa_queue_create() of a GPU and keeps until its end. sysfs must list each queue once, and debugfs
 * must show it active in one hardware slot of every XCC. Needs root. With --hold the program
 * reports the step "in hqds" as passed and then keeps the queues until the end of stdin.
 */
#include <hsa/hsa.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/matrix/driver_files.h"
#include "tests/matrix/step.h"

#define GPUS_MAX 64
#define OURS 2
#define RUNTIMES 1
#define QUEUES (OURS + RUNTIMES)
#define NODES_MAX 80

static hsa_agent_t gpus[GPUS_MAX];
static hsa_queue_t *queues[GPUS_MAX][OURS];
static int n_gpus;

static void check(hsa_status_t status, const char *what)
{
	const char *text = "?";

	if (status == HSA_STATUS_SUCCESS)
		return;
	hsa_status_string(status, &text);
	step_fail("%s: %s", what, text);
}
#define CHECK(call) check(call, #call)

static hsa_status_t on_agent(hsa_agent_t agent, void *arg)
{
	hsa_device_type_t type;

	(void)arg;
	CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_GPU && n_gpus < GPUS_MAX)
		gpus[n_gpus++] = agent;
	return HSA_STATUS_SUCCESS;
}

/* Returns the number of XCCs of all GPUs. A node with SIMDs is a GPU. */
static int xccs_of_the_machine(void)
{
	int sum = 0;

	for (int node = 0; node < NODES_MAX; node++) {
		unsigned simds = 0, xccs = 1;
		char path[80], line[128];
		FILE *f;

		snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%d/properties",
			 node);
		f = fopen(path, "re");
		if (!f)
			break;
		while (fgets(line, sizeof(line), f)) {
			sscanf(line, "simd_count %u", &simds);
			sscanf(line, "num_xcc %u", &xccs);
		}
		fclose(f);
		sum += simds ? (int)xccs : 0;
	}
	return sum;
}

static void hold(void)
{
	step("hold");
	while (getchar() != EOF)
		;
}

static void expect(int got, int want, const char *what)
{
	if (got != want)
		step_fail("%d %s, not %d", got, what, want);
}

int main(int argc, char **argv)
{
	step("init");
	CHECK(hsa_init());
	CHECK(hsa_iterate_agents(on_agent, NULL));
	if (!n_gpus)
		step_fail("no GPU among the agents");
	expect(queues_listed(), 0, "queues in sysfs before the first");
	expect(hqds_active(), 0, "slots active in hqds before the first queue");
	step("create");
	for (int i = 0; i < n_gpus; i++)
		for (int k = 0; k < OURS; k++)
			CHECK(hsa_queue_create(gpus[i], 256, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
					       UINT32_MAX, UINT32_MAX, &queues[i][k]));
	step("in sysfs");
	expect(queues_listed(), QUEUES * n_gpus, "queues in sysfs");
	step("in hqds");
	expect(hqds_active(), QUEUES * xccs_of_the_machine(), "slots active in hqds");
	if (argc > 1 && strcmp(argv[1], "--hold") == 0)
		hold();
	step("destroy");
	for (int i = 0; i < n_gpus; i++)
		for (int k = 0; k < OURS; k++)
			CHECK(hsa_queue_destroy(queues[i][k]));
	expect(queues_listed(), RUNTIMES * n_gpus, "queues in sysfs after ours");
	expect(hqds_active(), RUNTIMES * xccs_of_the_machine(), "slots active in hqds after ours");
	step("shutdown");
	CHECK(hsa_shut_down());
	expect(hqds_active(), 0, "slots active in hqds after the runtime's end");
	return step_end();
}
