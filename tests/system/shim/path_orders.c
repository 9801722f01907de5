// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "common/clock.h"
#include "tests/system/shim/path_work.h"

bool path_next(struct path_answer *answer, struct path_task *task)
{
	unsigned char byte;

	if (answer->begin_ns)
		answer->end_ns = clock_ns();
	if (write(STDOUT_FILENO, answer, sizeof *answer) != sizeof *answer ||
	    read(STDIN_FILENO, &byte, 1) != 1)
		return false;
	task->packets = byte & ~PATH_KERNEL;
	task->kernel = byte & PATH_KERNEL;
	answer->begin_ns = clock_ns();
	return true;
}
