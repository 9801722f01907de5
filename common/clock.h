/* SPDX-License-Identifier: MIT */
/* The clock of everything that runs in real time: CLOCK_MONOTONIC, nanoseconds. */
#ifndef KFDSHIM_COMMON_CLOCK_H
#define KFDSHIM_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
