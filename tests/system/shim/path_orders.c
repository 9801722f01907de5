// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/shim/path_work.h"

bool path_next(struct path_result *result, struct path_task *task)
{
	unsigned char byte;

	if (result->begin_ns)
		result->end_ns = clock_ns();
	if (write(STDOUT_FILENO, result, sizeof *result) != sizeof *result ||
	    read(STDIN_FILENO, &byte, 1) != 1)
		return false;
	task->packets = byte & ~PATH_KERNEL;
	task->kernel = byte & PATH_KERNEL;
	result->begin_ns = clock_ns();
	return true;
}
