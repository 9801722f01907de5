/* SPDX-License-Identifier: MIT */
/* Reads memory of this process that may not be mapped, without SIGSEGV. Any thread; keeps errno. */
#ifndef KFDSHIM_SHIM_SAFE_READ_H
#define KFDSHIM_SHIM_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies @size bytes from @address by a system call on this process (process_vm_writev()), so that
 * a bad address returns false and does not raise SIGSEGV. Memory of a device is read, too: GTT and
 * VRAM that are mapped through the render node, where runtimes keep the pointer words of some
 * queues (HSA_USERPTR_FOR_PAGED_MEM=0; SDMA queues of newer thunks; queues of gfx11).
 * Returns false also if a sandbox forbids the call.
 */
bool memory_read(void *to, uint64_t address, size_t size);

/*
 * Copies @size bytes from @address by loads, for memory that no thread unmaps meanwhile: the
 * pointers of a queue that is being created, and arguments that a caller has passed to the driver.
 * Returns false, and does not raise SIGSEGV, if the address is bad. Works also where a sandbox
 * forbids process_vm_writev().
 */
bool memory_read_mapped(void *to, uint64_t address, size_t size);

#endif
