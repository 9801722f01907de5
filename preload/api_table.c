// SPDX-License-Identifier: MIT
/*
 * Hooks in the runtime's API table, for processes that reach the runtime by dlsym: all exported
 * functions of the runtime jump through that table.
 *
 * The runtime passes the table to tools libraries in hsa_init: from ROCr 6 on to each loaded
 * library that exports HSA_AMD_TOOL_PRIORITY, in ROCr 5 only to those that HSA_TOOLS_LIB names.
 * This library does not set that variable, because that would change the environment of every
 * program and of all its children, and would load this library twice in newer runtimes. The sampler
 * finds the work of such a process in any case.
 *
 * A process can call the runtime by symbol and by dlsym, so preload.c hooks the symbols and this
 * file hooks the table. A call by symbol jumps through the table, too. While this library's hook is
 * in the table, the symbol's hook bypasses the table: the call is then reported once, and takes no
 * more jumps than without this library. If another tool's hook is in the entry, the call goes to
 * that tool and is reported twice, which changes nothing.
 */
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "preload/api_table.h"
#include "preload/preload_priv.h"

typedef void any_fn(void);

static load_fn load_relaxed, load_scacquire;
static store_fn store_relaxed, store_screlease;
static wait_fn wait_relaxed, wait_scacquire;

static struct {
	const uint32_t offset; /* offset of the entry in the core table, in bytes */
	any_fn *const hook;
	any_fn *next;	/* the entry's value before the hook */
	any_fn **entry; /* the entry; atomic; NULL: not hooked */
} functions[TABLE_END] = {
	[TABLE_LOAD_RELAXED] = {.offset = CORE_LOAD_RELAXED, .hook = (any_fn *)load_relaxed},
	[TABLE_LOAD_SCACQUIRE] = {.offset = CORE_LOAD_SCACQUIRE, .hook = (any_fn *)load_scacquire},
	[TABLE_STORE_RELAXED] = {.offset = CORE_STORE_RELAXED, .hook = (any_fn *)store_relaxed},
	[TABLE_STORE_SCRELEASE] = {.offset = CORE_STORE_SCRELEASE,
				   .hook = (any_fn *)store_screlease},
	[TABLE_WAIT_RELAXED] = {.offset = CORE_WAIT_RELAXED, .hook = (any_fn *)wait_relaxed},
	[TABLE_WAIT_SCACQUIRE] = {.offset = CORE_WAIT_SCACQUIRE, .hook = (any_fn *)wait_scacquire},
};

static struct {
	uintptr_t inside, low,
		high; /* an address in the runtime's library, and the library's range */
} runtime;

/* Define the hooks; each calls the function that its entry `f` held before. */
#define LOAD(name, f)                                                                              \
	static hsa_signal_value_t name(hsa_signal_t signal)                                        \
	{                                                                                          \
		return loaded(signal.handle, ((load_fn *)functions[f].next)(signal));              \
	}
LOAD(load_relaxed, TABLE_LOAD_RELAXED)
LOAD(load_scacquire, TABLE_LOAD_SCACQUIRE)

#define STORE(name, f)                                                                             \
	static void name(hsa_signal_t signal, hsa_signal_value_t value)                            \
	{                                                                                          \
		doorbell(signal.handle);                                                           \
		((store_fn *)functions[f].next)(signal, value);                                    \
	}
STORE(store_relaxed, TABLE_STORE_RELAXED)
STORE(store_screlease, TABLE_STORE_SCRELEASE)

#define WAIT(name, f)                                                                              \
	static hsa_signal_value_t name(hsa_signal_t signal, hsa_signal_condition_t condition,      \
				       hsa_signal_value_t compare, uint64_t timeout,               \
				       hsa_wait_state_t state)                                     \
	{                                                                                          \
		return wait_watched((wait_fn *)functions[f].next, signal, condition, compare,      \
				    timeout, state);                                               \
	}
WAIT(wait_relaxed, TABLE_WAIT_RELAXED)
WAIT(wait_scacquire, TABLE_WAIT_SCACQUIRE)

/* Puts the entry's old value back, unless another tool has hooked the entry after this library.
 * That tool goes on calling this library's hook, which then only forwards. */
static void take_out(enum table_function f)
{
	any_fn *ours = functions[f].hook;
	any_fn **entry = __atomic_load_n(&functions[f].entry, __ATOMIC_ACQUIRE);

	if (entry)
		__atomic_compare_exchange_n(entry, &ours, functions[f].next, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

void *table_past(enum table_function f, void *exported)
{
	any_fn **entry = __atomic_load_n(&functions[f].entry, __ATOMIC_ACQUIRE);
	uintptr_t at = (uintptr_t)exported;

	/* Check that `exported` is in the hooked copy of the runtime: each copy has its own
	 * table. */
	if (!entry || __atomic_load_n(entry, __ATOMIC_ACQUIRE) != functions[f].hook ||
	    at < runtime.low || at >= runtime.high)
		return exported;
	return (void *)functions[f].next;
}

/* Callback of dl_iterate_phdr(): stores the address range of the library that contains
 * runtime.inside. Returns 1 if this library is the one, else 0. */
static int find_runtime(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t low = UINTPTR_MAX, high = 0, begin, end;

	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		end = begin + info->dlpi_phdr[i].p_memsz;
		low = begin < low ? begin : low;
		high = end > high ? end : high;
	}
	if (runtime.inside < low || runtime.inside >= high)
		return 0;
	runtime.low = low;
	runtime.high = high;
	return 1;
}

/* Hooks one entry of the core table, unless it is empty or hooked already. */
static void hook(char *core, enum table_function f)
{
	any_fn **entry = (any_fn **)(void *)(core + functions[f].offset);
	any_fn *now = __atomic_load_n(entry, __ATOMIC_ACQUIRE);

	if (!now || now == functions[f].hook)
		return;
	/* Set `next` first, because the hook can be called as soon as it is in the table. */
	functions[f].next = now;
	__atomic_store_n(&functions[f].entry, entry, __ATOMIC_RELEASE);
	__atomic_store_n(entry, functions[f].hook, __ATOMIC_SEQ_CST);
}

/* Returns true if the table of another copy of the runtime (such as a framework's own) is hooked
 * already. Only one copy can be hooked, because the hooks call the functions of one copy. */
static bool is_of_another(const char *core)
{
	char *entry;

	for (unsigned f = 0; f < TABLE_END; f++) {
		entry = (char *)__atomic_load_n(&functions[f].entry, __ATOMIC_ACQUIRE);
		if (entry && entry != core + functions[f].offset)
			return true;
	}
	return false;
}

bool OnLoad(void *table, uint64_t version, uint64_t failed_count, const char *const *failed);
void OnUnload(void);
extern const uint32_t HSA_AMD_TOOL_PRIORITY;

/* Hooks the API table. Called by the runtime in hsa_init, with locks of the runtime held, after the
 * runtime has opened the device and read its version (Runtime::Load, in each generation). So the
 * agent has been loaded by now, or never will be. Returns true always, so that hsa_init goes on. */
EXPORT bool OnLoad(void *table, uint64_t version, uint64_t failed_count, const char *const *failed)
{
	struct table_version have;
	char *core;

	(void)version;
	(void)failed_count;
	(void)failed;
	if (!agent_now())
		return true;
	memcpy(&have, table, sizeof(have));
	if (have.minor < ROOT_BYTES)
		return true;
	memcpy(&core, (char *)table + ROOT_CORE, sizeof(core));
	if (!core || is_of_another(core))
		return true;
	memcpy(&have, core, sizeof(have));
	if (have.major < 1 || have.major > CORE_MAJOR_MAX)
		return true;
	runtime.low = runtime.high = 0;
	memcpy(&runtime.inside, core + CORE_INIT, sizeof(runtime.inside));
	dl_iterate_phdr(find_runtime, NULL);
	for (unsigned f = 0; f < TABLE_END; f++)
		if (functions[f].offset + sizeof(any_fn *) <= have.minor)
			hook(core, (enum table_function)f);
	return true;
}

/* Removes the hooks. Called by the runtime when it has restored its table, or is about to. `next`
 * stays set for calls that are in progress. The arguments do not show which copy of the runtime
 * calls. So the end of a copy without hooks also removes the hooks of the other copy, whose work
 * the sampler finds from then on. */
EXPORT void OnUnload(void)
{
	for (unsigned f = 0; f < TABLE_END; f++) {
		take_out((enum table_function)f);
		__atomic_store_n(&functions[f].entry, NULL, __ATOMIC_SEQ_CST);
	}
}

/* Tools are loaded in the order of this number; this one comes before tools that set none. */
EXPORT const uint32_t HSA_AMD_TOOL_PRIORITY = 10;
