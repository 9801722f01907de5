// SPDX-License-Identifier: MIT
/*
 * The wrapped loads of signals. A program may notice the end of its work by a load alone: HIP
 * runtimes load a signal's value before they wait for the signal, and do not wait if the value is
 * final. The loads are wrapped by symbol here and in the API table as well (api_table.c). A load
 * that passes both hooks does no harm, because the second report of the same end changes nothing.
 */
#include "preload/preload_priv.h"

static hsa_signal_value_t load_nowhere(hsa_signal_t signal)
{
	(void)signal;
	return 0;
}

#define LOAD(name)                                                                                 \
	static load_fn find_##name;                                                                \
	static load_fn *next_##name = find_##name;                                                 \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&next_##name,                    \
			     (void *)find_##name};                                                 \
	static COLD hsa_signal_value_t find_##name(hsa_signal_t signal)                            \
	{                                                                                          \
		return ((load_fn *)next_find(&entry_##name, (void *)load_nowhere))(signal);        \
	}                                                                                          \
	EXPORT hsa_signal_value_t name(hsa_signal_t signal)                                        \
	{                                                                                          \
		return loaded(signal.handle,                                                       \
			      __atomic_load_n(&next_##name, __ATOMIC_RELAXED)(signal));            \
	}
LOAD(hsa_signal_load_relaxed)
LOAD(hsa_signal_load_scacquire)
/* The name of HSA 1.0, which all runtimes still export. */
LOAD(hsa_signal_load_acquire)
