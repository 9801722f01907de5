/* SPDX-License-Identifier: MIT */
/*
 * The parts of the runtime's API table that api_table.c uses: offsets in bytes, equal in ROCr 5.2
 * to 7.2. The runtime declares the table in hsa_api_trace.h, which is C++; the test
 * unit/shim/api_table compares these numbers with that header.
 */
#ifndef KFDSHIM_PRELOAD_API_TABLE_H
#define KFDSHIM_PRELOAD_API_TABLE_H

#include <stdint.h>

/* Each table begins with its version. `minor` is the size of the table in bytes. */
struct table_version {
	uint32_t major, minor, step, reserved;
};

/* Offset, in the root table, of the pointer to the core table. */
#define ROOT_CORE 16u
#define ROOT_BYTES (ROOT_CORE + sizeof(void *))

#define CORE_MAJOR_MAX 2u /* highest known major version of the table; 1: ROCr 5, 2: ROCr 6 and 7 */

/* Offsets, in the core table, of pointers to functions. */
#define CORE_INIT 16u
#define CORE_LOAD_RELAXED 328u
#define CORE_LOAD_SCACQUIRE 336u
#define CORE_STORE_RELAXED 344u
#define CORE_STORE_SCRELEASE 352u
#define CORE_WAIT_RELAXED 360u
#define CORE_WAIT_SCACQUIRE 368u

#endif
