// SPDX-License-Identifier: MIT
/*
 * Preloaded into kfdschedd: a driver call on a process that a file in $STUCK is named after
 * (by its pid) first reads that file, which is a link to the one of stuck_file.c. Thus the
 * calling thread waits in state D, as it does in the driver's DBG_TRAP for the mutex of its
 * target, which a target can hold for as long as a page of its own is missing.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/kfd_abi.h"

static const char *folder;
static int (*next_ioctl)(int fd, unsigned long request, void *arg);

int ioctl(int fd, unsigned long request, ...);

__attribute__((constructor)) static void begin(void)
{
	void *found = dlsym(RTLD_NEXT, "ioctl");

	memcpy(&next_ioctl, &found, sizeof(found));
	folder = getenv("STUCK");
}

static void wait_for(unsigned pid)
{
	char path[256], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/%u", folder, pid);
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
	if (folder && (request >> 8 & 0xff) == KFDABI_TYPE && (request & 0xff) == KFDABI_DBG_TRAP)
		wait_for(trap->pid);
	return next_ioctl(fd, request, arg);
}
