// SPDX-License-Identifier: MIT
/*
 * shim_path PATH [LIBRARY]: submits work by one path, as path_work.h describes. The program itself
 * is not linked with a runtime: "raw" makes queues by ioctl, and every other path is in LIBRARY,
 * which is opened with RTLD_LOCAL and loads its runtime.
 */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/system/shim/path_work.h"
#include "tools/kfdconform/harness/harness.h"

static int run_raw(void)
{
	struct path_result result = {0};
	struct path_task task;
	struct raw_queue queue;
	struct signal *signal;
	struct gpu_file gpu;

	gpu_open(&gpu);
	queue_new(&gpu, &queue);
	signal = signals_new(&gpu);
	while (path_next(&result, &task)) {
		signal->value = 1;
		while (--task.packets > 0) {
			queue_barrier(&queue, NULL, NULL);
			queue_ring(&queue);
		}
		if (task.kernel)
			queue_work(&queue, PATH_KERNEL_MS, signal);
		else
			queue_barrier(&queue, NULL, signal);
		queue_ring(&queue);
		while (signal->value > 0)
			sched_yield(); /* the simulator may need this core */
	}
	return 0;
}

int main(int argc, char **argv)
{
	int (*run)(const char *);
	void *library;

	CHECK(argc > 1);
	if (strcmp(argv[1], "raw") == 0)
		return run_raw();
	CHECK(argc > 2);
	library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	CHECK(library);
	*(void **)&run = dlsym(library, "path_run");
	CHECK(run);
	/* If the program itself had a runtime, the test would prove nothing. */
	CHECK(!dlsym(RTLD_DEFAULT, "hsa_system_get_info"));
	return run(argv[1]);
}
