// SPDX-License-Identifier: MIT
#include "sim/host/time/next.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>

const struct next_calls *next(void)
{
	static struct next_calls found;
	static _Atomic bool is_found;

	if (atomic_load_explicit(&is_found, memory_order_acquire))
		return &found;
#define NEXT(name) *(void **)&found.name = dlsym(RTLD_NEXT, #name);
#include "sim/host/time/next.def"
#undef NEXT
	atomic_store_explicit(&is_found, true, memory_order_release);
	return &found;
}

__attribute__((constructor)) static void start(void)
{
	next();
}
