// SPDX-License-Identifier: MIT
#include "common/clock.h"

#define NS_PER_S 1000000000u

static const volatile uint64_t *source; /* atomic; NULL: CLOCK_MONOTONIC */

uint64_t clock_of(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t))
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t clock_ns(void)
{
	const volatile uint64_t *other = __atomic_load_n(&source, __ATOMIC_ACQUIRE);

	return other ? *other : clock_of(CLOCK_MONOTONIC);
}

struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

void clock_use(const volatile uint64_t *ns)
{
	__atomic_store_n(&source, ns, __ATOMIC_RELEASE);
}
