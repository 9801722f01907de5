// SPDX-License-Identifier: MIT
/* Proves that the offsets of preload/api_table.h are those of a runtime's header. Compiled only
 * (api_table.sh): the header needs C++. */
#include <cstddef>

/* Its own folder has the other headers. */
#define AMD_INTERNAL_BUILD
#include <hsa/hsa_api_trace.h>

#include "preload/api_table.h"

#define IS(type, member, offset)                                                                   \
	static_assert(offsetof(type, member) == offset, #member " has another offset")

IS(HsaApiTable, version, 0);
IS(HsaApiTable, core_, ROOT_CORE);
IS(CoreApiTable, version, 0);
IS(CoreApiTable, hsa_init_fn, CORE_INIT);
IS(CoreApiTable, hsa_signal_load_relaxed_fn, CORE_LOAD_RELAXED);
IS(CoreApiTable, hsa_signal_load_scacquire_fn, CORE_LOAD_SCACQUIRE);
IS(CoreApiTable, hsa_signal_store_relaxed_fn, CORE_STORE_RELAXED);
IS(CoreApiTable, hsa_signal_store_screlease_fn, CORE_STORE_SCRELEASE);
IS(CoreApiTable, hsa_signal_wait_relaxed_fn, CORE_WAIT_RELAXED);
IS(CoreApiTable, hsa_signal_wait_scacquire_fn, CORE_WAIT_SCACQUIRE);

IS(ApiTableVersion, major_id, offsetof(table_version, major));
IS(ApiTableVersion, minor_id, offsetof(table_version, minor));
static_assert(sizeof(ApiTableVersion) == sizeof(table_version), "a version has another size");
static_assert(HSA_CORE_API_TABLE_MAJOR_VERSION <= CORE_MAJOR_MAX, "the core table is newer");
