/* SPDX-License-Identifier: MIT */
/* Internal declarations of libkfdshim.so: how the next definition of a wrapped function is found,
 * the agent, and the fast paths of the hooks. Any thread; no locks; libc only. The headers of HSA
 * give types and prototypes, so that the compiler compares each wrapped function with the
 * runtime's declaration; nothing of the runtime is linked. */
#ifndef KFDSHIM_PRELOAD_PRELOAD_PRIV_H
#define KFDSHIM_PRELOAD_PRELOAD_PRIV_H

#include <errno.h>
#include <hsa/hsa.h>

#include "channel/agent_abi.h"

#define EXPORT __attribute__((visibility("default")))
#define COLD __attribute__((noinline, cold))
#define HIDDEN __attribute__((visibility("hidden")))

/*
 * Describes a wrapped function of HSA; NEXT defines one entry for each. next_resolve() finds the
 * next definitions that exist when the agent is loaded. It runs that early because later calls come
 * with locks of the runtime held: another thread can wait for such a lock inside dlopen, while it
 * holds the dynamic linker's lock that dlsym needs. A definition that does not exist yet is found
 * at the first call.
 */
typedef void *next_pointer __attribute__((may_alias)); /* of any function's type */
struct next_symbol {
	const char *name;
	void *self;
	next_pointer *pointer; /* variable with the next definition; atomic */
	void *unfound;	       /* value of that variable until the definition is found */
};
#define NEXT static const struct next_symbol __attribute__((section("kfdshim_next"), used))

/* Finds the definition of entry->name that follows this library's own (entry->self). Searches by
 * RTLD_NEXT, then in the loaded libraries. Stores the definition in *entry->pointer and returns it;
 * stores and returns `none` if there is no such definition. The library that contains it stays
 * loaded from then on. Keeps errno. */
void *next_find(const struct next_symbol *entry, void *none);

/*
 * Finds the next definitions of all wrapped functions of HSA, as next_find() does, with one
 * difference: of the libraries outside the scope of RTLD_NEXT only those of an HSA runtime are
 * searched, because before a runtime is loaded another library could be a wrapper that leads back
 * to this one. Definitions that are found already are not searched again. To be called once. Keeps
 * errno; can leave a message for dlerror().
 */
void next_resolve(void);

/* Types of the wrapped functions, from the runtime's own header. */
typedef __typeof__(hsa_signal_load_relaxed) load_fn;
typedef __typeof__(hsa_signal_store_relaxed) store_fn;
typedef __typeof__(hsa_signal_wait_relaxed) wait_fn;

/* The agent; NULL: not loaded (yet), switched off, or it cannot be loaded. Atomic. */
extern const struct kfdshim_agent *agent_loaded;
/* Loads the agent at the first call; later calls return at once. Returns agent_loaded. Not a
 * cancellation point. */
const struct kfdshim_agent *agent_load(const struct kfdshim_preload_iface *host);

/* Prepares the process for liburcu, which the agent loads: registers it for membarrier(2) and
 * reserves a key of thread-specific data. To be called when this library is loaded; keeps errno. */
void urcu_prepare(void);

/* The program's settings (kfdshim.h). Defined in request_api.c. */
extern const struct kfdshim_app_settings program_settings;

/* Returns the agent, or NULL. */
static inline const struct kfdshim_agent *agent_now(void)
{
	return __atomic_load_n(&agent_loaded, __ATOMIC_ACQUIRE);
}

/* Variables whose addresses the agent gets in struct kfdshim_preload_iface, under the same names.
 * Two more are gate and active, below. */
extern HIDDEN uint64_t active_doorbells[KFDSHIM_ACTIVE_DOORBELLS];
extern HIDDEN uint32_t n_intercept_queues;
/* Slow path of doorbell(): passes the signal to the agent. */
HIDDEN void doorbell_new(uint64_t signal);
extern HIDDEN uint32_t gate;
extern HIDDEN uint32_t active;
/* Slow path of loaded(): passes the signal to the agent. */
HIDDEN void loaded_final(uint64_t signal);

/* Passes a doorbell signal to the agent if its queue is not known to be active. To be called before
 * a doorbell is rung or a slot is reserved. Once the queue is known to be active this costs only
 * the first comparison. A null handle is ignored here, because the runtime reports it. */
static inline __attribute__((always_inline)) void doorbell(uint64_t signal)
{
	if (__builtin_expect(__atomic_load_n(&active_doorbells[kfdshim_doorbell_slot(signal)],
					     __ATOMIC_RELAXED) == signal,
			     1))
		return;
	if (signal && (*(const int64_t *)(signal + KFDSHIM_SIGNAL_KIND) < 0 ||
		       __atomic_load_n(&n_intercept_queues, __ATOMIC_RELAXED)))
		doorbell_new(signal);
}

/* Notifies the agent if @value, which a load of the signal has returned, is 0 or below, because all
 * packets that name the signal are then over. Returns @value. */
static inline __attribute__((always_inline)) int64_t loaded(uint64_t signal, int64_t value)
{
	if (__builtin_expect(value <= 0 && __atomic_load_n(&active, __ATOMIC_RELAXED), 0))
		loaded_final(signal);
	return value;
}

/* Calls `next`, one of hsa_signal_wait_*, and notifies the agent before and after. Returns the
 * value that the wait returned. */
HIDDEN hsa_signal_value_t wait_watched(wait_fn *next, hsa_signal_t signal,
				       hsa_signal_condition_t condition, hsa_signal_value_t compare,
				       uint64_t timeout, hsa_wait_state_t state);

/* Functions that are hooked both by symbol and in the runtime's API table (api_table.c). */
enum table_function {
	TABLE_LOAD_RELAXED,
	TABLE_LOAD_SCACQUIRE,
	TABLE_STORE_RELAXED,
	TABLE_STORE_SCRELEASE,
	TABLE_WAIT_RELAXED,
	TABLE_WAIT_SCACQUIRE,
	TABLE_END
};
/* Returns the function that a call by symbol should continue with. `exported` is the runtime's
 * exported function, which jumps through the API table. While this library's hook is in the table,
 * the result is the function behind that hook, so that a call passes one hook only. Otherwise (no
 * hook there, or one of another tool) it is `exported`. */
HIDDEN void *table_past(enum table_function f, void *exported);

#endif
