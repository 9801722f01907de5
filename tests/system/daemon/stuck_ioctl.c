// SPDX-License-Identifier: MIT
/*
 * Preloaded into kfdschedd: before a driver call on process PID it reads the file $STUCK/PID, if it
 * exists, which is a link to the file of stuck_file.c. The calling thread then waits in state D, as
 * it does in the driver's DBG_TRAP for the mutex of its target, which a target can hold as long as
 * a page of its own memory is missing.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfd/uapi.h"

static const char *directory;
static int (*next_ioctl)(int fd, unsigned long request, void *arg);

int ioctl(int fd, unsigned long request, ...);

__attribute__((constructor)) static void begin(void)
{
	void *found = dlsym(RTLD_NEXT, "ioctl");

	memcpy(&next_ioctl, &found, sizeof(found));
	directory = getenv("STUCK");
}

static void wait_for(unsigned pid)
{
	char path[256], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/%u", directory, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!read(fd, &byte, 1);
	close(fd);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	const struct kfdabi_dbg_trap *trap;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	trap = arg;
	if (directory && (request >> 8 & 0xff) == KFDABI_TYPE &&
	    (request & 0xff) == KFDABI_DBG_TRAP)
		wait_for(trap->pid);
	return next_ioctl(fd, request, arg);
}
