/* SPDX-License-Identifier: MIT */
/* Reading memory of this process that may not be there. */
#ifndef KFDSHIM_SHIM_MEMORY_H
#define KFDSHIM_SHIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By process_vm_readv on ourselves: a bad address is `false`, not a SIGSEGV.
 * false also where a sandbox forbids the call. Keeps errno. */
bool memory_read(void *to, uint64_t address, size_t size);

#endif
