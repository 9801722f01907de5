/* SPDX-License-Identifier: MIT */
/* The clocks of all our own programs, in nanoseconds. Threads: any. */
#ifndef KFDSHIM_COMMON_CLOCK_H
#define KFDSHIM_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC. */
uint64_t clock_ns(void);
/* Another clock (clock_gettime(2)); 0: there is none of that number (any more). */
uint64_t clock_of(clockid_t id);
struct timespec clock_timespec(uint64_t ns);

/* From now on clock_ns() returns what stands at @ns, in all threads of this program: the
 * supervisor of a virtual world makes time itself. NULL: CLOCK_MONOTONIC again. */
void clock_use(const volatile uint64_t *ns);

#endif
