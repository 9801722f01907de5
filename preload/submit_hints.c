// SPDX-License-Identifier: MIT
/*
 * Early signs of work, which come before its doorbell: the reservation of a slot in a queue's ring,
 * and the start of a copy. The functions are wrapped like the doorbells in preload.c, and are as
 * cheap once the queue is known to be active.
 */
#include <stdbool.h>
#include <stddef.h>

#include "preload/preload_priv.h"

/* Offset of doorbell_signal in hsa_queue_t, in bytes; equal in ROCr 5.2 to 7.2. */
#define QUEUE_DOORBELL 16

typedef uint64_t add_fn(const void *queue, uint64_t value);
typedef uint64_t cas_fn(const void *queue, uint64_t expected, uint64_t value);
typedef void store_index_fn(const void *queue, uint64_t value);
/* hsa_agent_t and hsa_signal_t are passed like a uint64_t. */
typedef int copy_fn(void *to, uint64_t to_agent, const void *from, uint64_t from_agent, size_t size,
		    uint32_t waits, const uint64_t *wait_for, uint64_t completion);
typedef int copy_engine_fn(void *to, uint64_t to_agent, const void *from, uint64_t from_agent,
			   size_t size, uint32_t waits, const uint64_t *wait_for,
			   uint64_t completion, unsigned engine, bool force);
typedef int copy_rect_fn(const void *to, const void *to_offset, const void *from,
			 const void *from_offset, const void *range, uint64_t agent,
			 unsigned direction, uint32_t waits, const uint64_t *wait_for,
			 uint64_t completion);

add_fn hsa_queue_add_write_index_relaxed, hsa_queue_add_write_index_scacquire;
add_fn hsa_queue_add_write_index_screlease, hsa_queue_add_write_index_scacq_screl;
cas_fn hsa_queue_cas_write_index_relaxed, hsa_queue_cas_write_index_scacquire;
cas_fn hsa_queue_cas_write_index_screlease, hsa_queue_cas_write_index_scacq_screl;
store_index_fn hsa_queue_store_write_index_relaxed, hsa_queue_store_write_index_screlease;
/* The same functions by their names of HSA 1.0, which all runtimes still export. */
add_fn hsa_queue_add_write_index_acquire, hsa_queue_add_write_index_release;
add_fn hsa_queue_add_write_index_acq_rel;
cas_fn hsa_queue_cas_write_index_acquire, hsa_queue_cas_write_index_release;
cas_fn hsa_queue_cas_write_index_acq_rel;
store_index_fn hsa_queue_store_write_index_release;
copy_fn hsa_amd_memory_async_copy;
copy_engine_fn hsa_amd_memory_async_copy_on_engine;
copy_rect_fn hsa_amd_memory_async_copy_rect;

static inline __attribute__((always_inline)) uint64_t doorbell_of(const void *queue)
{
	return *(const uint64_t *)((const char *)queue + QUEUE_DOORBELL);
}

/* Is the queue known to be active, and the gate (agent_abi.h) open? Both conditions share one
 * branch, which saves as much as the function's landing pad costs. */
static inline __attribute__((always_inline)) bool passes(const void *queue)
{
	uint64_t signal = doorbell_of(queue);
	uint64_t other = __atomic_load_n(&hot[kfdshim_hot(signal)], __ATOMIC_RELAXED) ^ signal;

	return __builtin_expect((other | __atomic_load_n(&gate, __ATOMIC_RELAXED)) == 0, 1);
}

/* Wait for the gate first and report the work afterwards, because a packet that waits is no work on
 * the queue yet. */
static COLD void before_reserve(const void *queue, uint64_t packets)
{
	const struct kfdshim_agent *agent = agent_now();

	if (__atomic_load_n(&gate, __ATOMIC_RELAXED) != 0 && agent)
		agent->reserve((uint64_t)(uintptr_t)queue, packets);
	doorbell(doorbell_of(queue));
}

/* Notifies the agent of a copy that the runtime has accepted. */
static void copied(uint64_t completion)
{
	const struct kfdshim_agent *agent = agent_now();

	if (agent)
		agent->copied(completion);
}

static uint64_t add_nowhere(const void *queue, uint64_t value)
{
	(void)queue;
	(void)value;
	return 0;
}

static uint64_t cas_nowhere(const void *queue, uint64_t expected, uint64_t value)
{
	(void)queue;
	(void)value;
	return expected;
}

static void store_nowhere(const void *queue, uint64_t value)
{
	(void)queue;
	(void)value;
}

/* Wraps a function that reserves `packets` slots of `queue`. Both calls are tail calls, so that the
 * fast path saves no registers. For a function without a result `return` has a void expression,
 * which GNU C permits. */
#define RESERVE(name, type, result, none, packets, parameters, arguments)                          \
	static type find_##name;                                                                   \
	static type *next_##name = find_##name;                                                    \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&next_##name,                    \
			     (void *)find_##name};                                                 \
	static COLD result find_##name parameters                                                  \
	{                                                                                          \
		return ((type *)next_find(&entry_##name, (void *)none))arguments;                  \
	}                                                                                          \
	static COLD result first_##name parameters                                                 \
	{                                                                                          \
		before_reserve(queue, packets);                                                    \
		return __atomic_load_n(&next_##name, __ATOMIC_RELAXED) arguments;                  \
	}                                                                                          \
	EXPORT result name parameters                                                              \
	{                                                                                          \
		if (passes(queue))                                                                 \
			return __atomic_load_n(&next_##name, __ATOMIC_RELAXED) arguments;          \
		else                                                                               \
			return first_##name arguments;                                             \
	}
/* Not by a macro over these macros, because cppcheck 2.10 fails on that. */
#define ADD (const void *queue, uint64_t value)
RESERVE(hsa_queue_add_write_index_relaxed, add_fn, uint64_t, add_nowhere, value, ADD,
	(queue, value))
RESERVE(hsa_queue_add_write_index_scacquire, add_fn, uint64_t, add_nowhere, value, ADD,
	(queue, value))
RESERVE(hsa_queue_add_write_index_screlease, add_fn, uint64_t, add_nowhere, value, ADD,
	(queue, value))
RESERVE(hsa_queue_add_write_index_scacq_screl, add_fn, uint64_t, add_nowhere, value, ADD,
	(queue, value))
RESERVE(hsa_queue_add_write_index_acquire, add_fn, uint64_t, add_nowhere, value, ADD,
	(queue, value))
RESERVE(hsa_queue_add_write_index_release, add_fn, uint64_t, add_nowhere, value, ADD,
	(queue, value))
RESERVE(hsa_queue_add_write_index_acq_rel, add_fn, uint64_t, add_nowhere, value, ADD,
	(queue, value))

/* The report is made before the exchange; that the exchange can fail because of another thread does
 * no harm. */
#define CAS (const void *queue, uint64_t expected, uint64_t value)
RESERVE(hsa_queue_cas_write_index_relaxed, cas_fn, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_scacquire, cas_fn, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_screlease, cas_fn, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_scacq_screl, cas_fn, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_acquire, cas_fn, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_release, cas_fn, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_acq_rel, cas_fn, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))

#define STORE (const void *queue, uint64_t value)
RESERVE(hsa_queue_store_write_index_relaxed, store_index_fn, void, store_nowhere, 1, STORE,
	(queue, value))
RESERVE(hsa_queue_store_write_index_screlease, store_index_fn, void, store_nowhere, 1, STORE,
	(queue, value))
RESERVE(hsa_queue_store_write_index_release, store_index_fn, void, store_nowhere, 1, STORE,
	(queue, value))

/* Wraps a function that starts a copy. The agent is notified afterwards, because only then has the
 * runtime moved the write pointer of the queue that it chose. Old runtimes (5.2.3) have no
 * hsa_amd_memory_async_copy_on_engine. It is wrapped nevertheless, because HIP 6 and 7 copy by it;
 * a program that searches for the name under an old runtime finds this one, which returns an
 * error. */
#define COPY(name, type, none_name, parameters, arguments)                                         \
	static int none_name parameters                                                            \
	{                                                                                          \
		return STATUS_ERROR;                                                               \
	}                                                                                          \
	static type find_##name;                                                                   \
	static type *next_##name = find_##name;                                                    \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&next_##name,                    \
			     (void *)find_##name};                                                 \
	static COLD int find_##name parameters                                                     \
	{                                                                                          \
		return ((type *)next_find(&entry_##name, (void *)none_name))arguments;             \
	}                                                                                          \
	EXPORT int name parameters                                                                 \
	{                                                                                          \
		int status = __atomic_load_n(&next_##name, __ATOMIC_RELAXED) arguments;            \
                                                                                                   \
		copied(completion);                                                                \
		return status;                                                                     \
	}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
COPY(hsa_amd_memory_async_copy, copy_fn, copy_nowhere,
     (void *to, uint64_t to_agent, const void *from, uint64_t from_agent, size_t size,
      uint32_t waits, const uint64_t *wait_for, uint64_t completion),
     (to, to_agent, from, from_agent, size, waits, wait_for, completion))
COPY(hsa_amd_memory_async_copy_on_engine, copy_engine_fn, copy_engine_nowhere,
     (void *to, uint64_t to_agent, const void *from, uint64_t from_agent, size_t size,
      uint32_t waits, const uint64_t *wait_for, uint64_t completion, unsigned engine, bool force),
     (to, to_agent, from, from_agent, size, waits, wait_for, completion, engine, force))
COPY(hsa_amd_memory_async_copy_rect, copy_rect_fn, copy_rect_nowhere,
     (const void *to, const void *to_offset, const void *from, const void *from_offset,
      const void *range, uint64_t agent, unsigned direction, uint32_t waits,
      const uint64_t *wait_for, uint64_t completion),
     (to, to_offset, from, from_offset, range, agent, direction, waits, wait_for, completion))
#pragma GCC diagnostic pop
