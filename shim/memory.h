/* SPDX-License-Identifier: MIT */
/* Reading memory of this process that may not be there. */
#ifndef KFDSHIM_SHIM_MEMORY_H
#define KFDSHIM_SHIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By a system call on ourselves (process_vm_writev): a bad address is `false`, not a
 * SIGSEGV. A device's memory is read, too: GTT and VRAM that are mapped through the
 * render node, where runtimes keep the words of some queues (HSA_USERPTR_FOR_PAGED_MEM=0;
 * SDMA queues of newer thunks; queues of gfx11). false also where a sandbox forbids the
 * call. Any thread; keeps errno. */
bool memory_read(void *to, uint64_t address, size_t size);

/*
 * The same by loads, where nobody unmaps the memory meanwhile: of a queue that is being
 * created, and what a caller has handed to the driver. A bad address is `false`, not a
 * SIGSEGV; a sandbox may forbid what it will. Any thread; keeps errno.
 */
bool memory_read_mapped(void *to, uint64_t address, size_t size);

#endif
