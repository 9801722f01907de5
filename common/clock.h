/* SPDX-License-Identifier: MIT */
/* Clocks of the programs of this project, in nanoseconds. Threads: any. */
#ifndef KFDSHIM_COMMON_CLOCK_H
#define KFDSHIM_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time of CLOCK_MONOTONIC, or what clock_use() has set instead. */
uint64_t clock_ns(void);
/* Returns the time of another clock (clock_gettime(2)); 0: there is no such clock, or no more. */
uint64_t clock_of(clockid_t id);
/* Converts a time in ns. */
struct timespec clock_timespec(uint64_t ns);

/* Makes clock_ns() return the value at @ns from now on, in all threads of this program, because the
 * supervisor of a simulation in virtual time makes the time itself. NULL: CLOCK_MONOTONIC again. */
void clock_use(const volatile uint64_t *ns);

#endif
