/* SPDX-License-Identifier: MIT */
/* Reads clocks, in nanoseconds. Threads: any. */
#ifndef KFDSHIM_COMMON_CLOCK_H
#define KFDSHIM_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time of CLOCK_MONOTONIC, or of the source that clock_use() has set instead. */
uint64_t clock_ns(void);
/* Returns the time of the clock `id` (clock_gettime(2)), or 0 if that clock does not exist. */
uint64_t clock_of(clockid_t id);
/* Converts a time in ns. */
struct timespec clock_timespec(uint64_t ns);

/* Makes clock_ns() return the value at @ns in all threads of this program, or CLOCK_MONOTONIC again
 * if @ns is NULL. For the supervisor of a simulation in virtual time, which advances that value. */
void clock_use(const volatile uint64_t *ns);

#endif
