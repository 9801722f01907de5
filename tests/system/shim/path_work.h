/* SPDX-License-Identifier: MIT */
#ifndef KFDSHIM_TESTS_PATH_WORK_H
#define KFDSHIM_TESTS_PATH_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Answer to a burst: when it began, and when the program saw its end; CLOCK_MONOTONIC ns. */
struct path_result {
	uint64_t begin_ns, end_ns;
};

/* An order is one byte: the number of packets, 1 to 16, and the flag PATH_KERNEL if the last of
 * them is a kernel, of PATH_KERNEL_MS. */
#define PATH_KERNEL 0x80u
#define PATH_KERNEL_MS 20u
/* A decoded order. */
struct path_task {
	unsigned packets;
	bool kernel;
};

/* Answers the previous burst, if there was one, and reads the next order. Returns false if there is
 * none. */
bool path_next(struct path_result *result, struct path_task *task);

/* Executes bursts by "store", "direct" or "copy" (which has no kernels) until standard input ends.
 * Returns an exit status. */
__attribute__((visibility("default"))) int path_run(const char *path);

#endif
