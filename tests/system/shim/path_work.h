/* SPDX-License-Identifier: MIT */
#ifndef KFDSHIM_TESTS_PATH_WORK_H
#define KFDSHIM_TESTS_PATH_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* What answers a burst: when it began, and when the program saw its end.
 * CLOCK_MONOTONIC ns. */
struct path_answer {
	uint64_t begin_ns, end_ns;
};

/* An order is a byte: a number of packets, 1 to 16, and whether the last of them is a
 * kernel. */
#define PATH_KERNEL 0x80u
#define PATH_KERNEL_MS 20u
struct path_order {
	unsigned packets;
	bool kernel;
};

/* Answers the burst before, if there was one, and takes the next order. false: there
 * is none. */
bool path_next(struct path_answer *answer, struct path_order *order);

/* Serves bursts by "store", "direct" or "copy" (which knows no kernels) until stdin
 * ends. An exit status. */
__attribute__((visibility("default"))) int path_run(const char *path);

#endif
