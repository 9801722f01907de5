// SPDX-License-Identifier: MIT
/*
 * A library that bench_wake preloads into kfdschedd. It records the time of a SUSPEND call, in the
 * thread that makes it and just before the system call, and counts the RESUME calls that have
 * returned.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "tests/bench/wake.h"

static struct wake_page *page;
static int (*next_ioctl)(int fd, unsigned long request, void *arg);

int ioctl(int fd, unsigned long request, ...);

__attribute__((constructor)) static void begin(void)
{
	void *found = dlsym(RTLD_NEXT, "ioctl");

	memcpy(&next_ioctl, &found, sizeof(found));
	page = wake_page_map();
}

int ioctl(int fd, unsigned long request, ...)
{
	const struct kfdabi_dbg_trap *trap;
	bool resume = false;
	va_list args;
	void *arg;
	int r;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (page && (request >> 8 & 0xff) == KFDABI_TYPE && (request & 0xff) == KFDABI_DBG_TRAP) {
		trap = arg;
		resume = trap->op == KFDABI_TRAP_RESUME_QUEUES;
		if (trap->op == KFDABI_TRAP_SUSPEND_QUEUES &&
		    __atomic_load_n(&page->armed, __ATOMIC_ACQUIRE)) {
			page->entry_ns = clock_ns();
			__atomic_store_n(&page->armed, 0, __ATOMIC_RELEASE);
		}
	}
	r = next_ioctl(fd, request, arg);
	if (resume)
		__atomic_fetch_add(&page->resumes, 1, __ATOMIC_RELEASE);
	return r;
}
