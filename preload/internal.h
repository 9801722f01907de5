/* SPDX-License-Identifier: MIT */
/* What the files of libkfdshim.so share. */
#ifndef KFDSHIM_PRELOAD_INTERNAL_H
#define KFDSHIM_PRELOAD_INTERNAL_H

#include <errno.h>

#include "preload/agent.h"

#define EXPORT __attribute__((visibility("default")))
#define COLD __attribute__((noinline, cold))
#define HIDDEN __attribute__((visibility("hidden")))

/* hsa_status_t, for calls that no runtime, or none that has them, can answer. */
#define STATUS_ERROR 0x1000

/* The definition of `name` after ours, `self`: by RTLD_NEXT, else in the
 * loaded libraries. The library that holds it stays loaded from then on. `none`
 * if there is none; never `self`; keeps errno. */
void *next_or(const char *name, void *self, void *none);

/*
 * Every wrapped function of HSA has one, by NEXT. At the agent's load next_resolve()
 * finds what can be found then: later calls come with locks of the runtime held,
 * which another thread may want in its dlopen, with the linker's lock that dlsym
 * needs. What is not there yet is found at its first call.
 */
typedef void *next_pointer __attribute__((may_alias)); /* of any function's type */
struct next {
	const char *name;
	void *self;
	next_pointer *pointer; /* atomic: where the next symbol is kept */
	void *unfound;	       /* what is there until it is found */
};
#define NEXT static const struct next __attribute__((section("kfdshim_next"), used))

/*
 * By the same rules, but that of libraries outside the scope of RTLD_NEXT only a
 * runtime's own is asked: while none is there, another one could be a wrapper that
 * leads back to us. Pointers that were found stay. Once; keeps errno; dlerror() may
 * have a message of it.
 */
void next_resolve(void);

/* The agent, or NULL: not loaded (yet), switched off, or not loadable. */
extern const struct kfdshim_agent *agent_loaded;
/* Loads the agent at the first call; later calls return at once. */
const struct kfdshim_agent *agent_load(const struct kfdshim_host *host);

/* What the program asks for; api.c. */
extern const struct kfdshim_wishes program_wishes;

static inline const struct kfdshim_agent *agent_now(void)
{
	return __atomic_load_n(&agent_loaded, __ATOMIC_ACQUIRE);
}

/* The function's next symbol, kept in `pointer`; without one, `none`. */
#define FIND(pointer, name, none)                                                                  \
	({                                                                                         \
		__typeof__(pointer) f =                                                            \
			(__typeof__(pointer))next_or(#name, (void *)name, (void *)none);           \
                                                                                                   \
		__atomic_store_n(&(pointer), f, __ATOMIC_RELAXED);                                 \
		f;                                                                                 \
	})

/* See KFDSHIM_HOT. */
extern HIDDEN uint64_t hot[KFDSHIM_HOT];
extern HIDDEN uint32_t uppers; /* atomic; of struct kfdshim_host */
HIDDEN void doorbell_new(uint64_t signal);
/* struct kfdshim_host. */
extern HIDDEN uint32_t gate;
extern HIDDEN uint32_t active;
HIDDEN void loaded_final(uint64_t signal);

/* All that a doorbell costs once its queue is known to be active is the first
 * comparison. A null handle is the runtime's to complain about. */
static inline __attribute__((always_inline)) void doorbell(uint64_t signal)
{
	if (__builtin_expect(__atomic_load_n(&hot[kfdshim_hot(signal)], __ATOMIC_RELAXED) == signal,
			     1))
		return;
	if (signal && (*(const int64_t *)(signal + KFDSHIM_SIGNAL_KIND) < 0 ||
		       __atomic_load_n(&uppers, __ATOMIC_RELAXED)))
		doorbell_new(signal);
}

/* A value that a load has seen: at 0 or below the packets of the signal are over. */
static inline __attribute__((always_inline)) int64_t loaded(uint64_t signal, int64_t value)
{
	if (__builtin_expect(value <= 0 && __atomic_load_n(&active, __ATOMIC_RELAXED), 0))
		loaded_final(signal);
	return value;
}

/* A wait by `next`, with the agent told before and after. */
HIDDEN int64_t wait_watched(int64_t (*next)(uint64_t signal, unsigned condition, int64_t compare,
					    uint64_t timeout, unsigned state),
			    uint64_t signal, unsigned condition, int64_t compare, uint64_t timeout,
			    unsigned state);

/* table.c: functions that are hooked both by symbol and in the API table. */
enum table_function {
	TABLE_LOAD_RELAXED,
	TABLE_LOAD_SCACQUIRE,
	TABLE_STORE_RELAXED,
	TABLE_STORE_SCRELEASE,
	TABLE_WAIT_RELAXED,
	TABLE_WAIT_SCACQUIRE,
	TABLE_END
};
/* `exported` is the runtime's own function, by which calls by symbol go on: what it leads to, past
 * our hook in the table; or `exported`, if another tool stands there, or no hook of ours. */
HIDDEN void *table_past(enum table_function f, void *exported);

#endif
