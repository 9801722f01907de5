// SPDX-License-Identifier: MIT
#include "shim/safe_read.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Copies by process_vm_writev() from this process to itself. The kernel reads the source of that
 * call by plain loads from the caller's memory, and pins pages only of the destination. So the
 * source is @address, and the destination is @to. process_vm_readv() would pin pages of @address;
 * memory of a device (VM_IO, VM_PFNMAP: GTT and VRAM) has none, so that call would fail with
 * EFAULT.
 *
 * The target of the call is the calling thread's ID, because the first thread, whose ID is the PID,
 * may have ended and then has no memory. libc's wrapper is not used, because a sanitizer would
 * treat it as an access.
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

/* Checks an address by rt_sigprocmask() with an invalid operation: the kernel copies the signal set
 * from the address and then rejects the operation. The call has no effect, and fails with EFAULT
 * only if a load would raise SIGSEGV. */
static bool is_mapped(uint64_t word)
{
	const int nothing = -1;
	int saved = errno;
	bool mapped;

	if (!word) /* address 0 means "no set", so the kernel would not read it */
		return false;
	mapped = syscall(SYS_rt_sigprocmask, nothing, word, NULL, sizeof(uint64_t)) == 0 ||
		 errno != EFAULT;
	errno = saved;
	return mapped;
}

/* Copies memory, an aligned word by one load, because another thread may be writing to it. */
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
