// SPDX-License-Identifier: MIT
/* Another preloaded library that wraps the same functions as libkfdshim.so, counts the calls and
 * forwards them. At exit it writes the counts into the file that OTHER_REPORT names. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned ioctls, stores, waits;

int ioctl(int fd, unsigned long request, ...);
void hsa_signal_store_screlease(uint64_t signal, int64_t value);
int64_t hsa_signal_wait_scacquire(uint64_t signal, unsigned condition, int64_t compare,
				  uint64_t timeout, unsigned state);

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (!next)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	__atomic_add_fetch(&ioctls, 1, __ATOMIC_RELAXED);
	return next(fd, request, arg);
}

void hsa_signal_store_screlease(uint64_t signal, int64_t value)
{
	static void (*next)(uint64_t, int64_t);

	if (!next)
		next = (void (*)(uint64_t, int64_t))dlsym(RTLD_NEXT, "hsa_signal_store_screlease");
	__atomic_add_fetch(&stores, 1, __ATOMIC_RELAXED);
	next(signal, value);
}

int64_t hsa_signal_wait_scacquire(uint64_t signal, unsigned condition, int64_t compare,
				  uint64_t timeout, unsigned state)
{
	static int64_t (*next)(uint64_t, unsigned, int64_t, uint64_t, unsigned);

	if (!next)
		next = (int64_t(*)(uint64_t, unsigned, int64_t, uint64_t, unsigned))dlsym(
			RTLD_NEXT, "hsa_signal_wait_scacquire");
	__atomic_add_fetch(&waits, 1, __ATOMIC_RELAXED);
	return next(signal, condition, compare, timeout, state);
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("OTHER_REPORT");
	char line[64];
	int fd, n;

	if (!path || ioctls == 0)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	n = snprintf(line, sizeof(line), "%u %u %u\n", ioctls, stores, waits);
	(void)!write(fd, line, (size_t)n);
	close(fd);
}
