// SPDX-License-Identifier: MIT
#include "shim/memory.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

bool memory_read(void *to, uint64_t address, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	int saved = errno;
	ssize_t n;

	n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	errno = saved;
	return n == (ssize_t)size;
}
