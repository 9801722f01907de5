/* SPDX-License-Identifier: MIT */
/*
 * Wrapped functions that the HSA headers of this build may be too old to declare; Debian 12 has
 * those of ROCr 5.2.3. CMake defines a KFDSHIM_HAVE_ macro for each one that the headers declare,
 * and then the compiler compares the wrapper with that declaration.
 */
#ifndef KFDSHIM_PRELOAD_HSA_NEWER_H
#define KFDSHIM_PRELOAD_HSA_NEWER_H

#include <hsa/hsa_ext_amd.h>

#ifndef KFDSHIM_HAVE_HSA_AMD_MEMORY_ASYNC_COPY_ON_ENGINE
typedef unsigned hsa_amd_sdma_engine_id_t; /* an enum in newer headers */
hsa_status_t hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_agent, const void *from,
						 hsa_agent_t from_agent, size_t size,
						 uint32_t waits, const hsa_signal_t *wait_for,
						 hsa_signal_t completion,
						 hsa_amd_sdma_engine_id_t engine, bool force);
#endif

#endif
