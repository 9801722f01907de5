// SPDX-License-Identifier: MIT
#include "shim/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * What a call is to write somewhere the kernel reads by loads, as any argument of the
 * caller's; the pages it takes of the place where it writes. So this is a write from
 * there to here: process_vm_readv would take pages from there, which a device's memory
 * (VM_IO, VM_PFNMAP: GTT and VRAM) has none of, and EFAULT it would be.
 *
 * By the calling thread's number: the process's is its first thread's, which may have
 * ended, and one that has ended has no memory. Without libc's function, for which a
 * sanitizer would call it an access.
 */
bool memory_read(void *to, uint64_t address, size_t size)
{
	struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	struct iovec here = {.iov_base = to, .iov_len = size};
	int saved = errno;
	long n;

	n = syscall(SYS_process_vm_writev, gettid(), &there, 1ul, &here, 1ul, 0ul);
	errno = saved;
	return n == (long)size;
}

/* The kernel takes a set of signals from there, and then finds that nothing is to be done
 * with it: no effect, and EFAULT only if a load would be a SIGSEGV. */
static bool is_mapped(uint64_t word)
{
	const int nothing = -1;
	int saved = errno;
	bool mapped;

	if (!word) /* no set is what that would be */
		return false;
	mapped = syscall(SYS_rt_sigprocmask, nothing, word, NULL, sizeof(uint64_t)) == 0 ||
		 errno != EFAULT;
	errno = saved;
	return mapped;
}

/* One word as one: somebody may be writing it. */
static void load(void *to, uint64_t address, size_t size)
{
	uint64_t word;

	if (size != sizeof(word) || address % sizeof(word) != 0) {
		memcpy(to, (const void *)(uintptr_t)address, size);
		return;
	}
	word = __atomic_load_n((const uint64_t *)(uintptr_t)address, __ATOMIC_RELAXED);
	memcpy(to, &word, sizeof(word));
}

bool memory_read_mapped(void *to, uint64_t address, size_t size)
{
	uint64_t end = address + size;

	if (end < address)
		return false;
	for (uint64_t at = address & -sizeof(uint64_t); at < end; at += sizeof(uint64_t))
		if (!is_mapped(at))
			return false;
	load(to, address, size);
	return true;
}
