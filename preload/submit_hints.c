// SPDX-License-Identifier: MIT
/*
 * Wraps the functions that show work before its doorbell is rung: the reservation of a slot in a
 * queue's ring, and the start of a copy. The functions are wrapped like the doorbells in preload.c,
 * and are as cheap once the queue is known to be active.
 */
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/preload_priv.h"

/* The HSA headers of this build may be too old to declare a wrapped function; Debian 12 has those
 * of ROCr 5.2.3. CMake defines the macro if they declare it, and then the compiler compares the
 * wrapper with that declaration. */
#ifndef KFDSHIM_HAVE_HSA_AMD_MEMORY_ASYNC_COPY_ON_ENGINE
typedef unsigned hsa_amd_sdma_engine_id_t; /* an enum in newer headers */
hsa_status_t hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_agent, const void *from,
						 hsa_agent_t from_agent, size_t size,
						 uint32_t waits, const hsa_signal_t *wait_for,
						 hsa_signal_t completion,
						 hsa_amd_sdma_engine_id_t engine, bool force);
#endif

/* Check the offset, because the program's runtime can be older or newer than this header. */
_Static_assert(offsetof(hsa_queue_t, doorbell_signal) == 16, "equal in ROCr 5.2 to 7.2");

static inline __attribute__((always_inline)) uint64_t doorbell_of(const hsa_queue_t *queue)
{
	return queue->doorbell_signal.handle;
}

/* Returns true if the queue is known to be active and the gate (agent_abi.h) is open. Tests both
 * conditions by one branch. That saves the time of one instruction, as much as the landing pad for
 * indirect branches (endbr64) costs at the function's entry. */
static inline __attribute__((always_inline)) bool passes(const hsa_queue_t *queue)
{
	uint64_t signal = doorbell_of(queue);
	uint64_t other = __atomic_load_n(&active_doorbells[kfdshim_doorbell_slot(signal)],
					 __ATOMIC_RELAXED) ^
			 signal;

	return __builtin_expect((other | __atomic_load_n(&gate, __ATOMIC_RELAXED)) == 0, 1);
}

/* Calls agent->reserve(), which waits while the gate is closed, and only then reports the doorbell,
 * because a thread that waits has not put work on the queue yet. */
static COLD void before_reserve(const hsa_queue_t *queue, uint64_t packets)
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

static uint64_t add_nowhere(const hsa_queue_t *queue, uint64_t value)
{
	(void)queue;
	(void)value;
	return 0;
}

static uint64_t cas_nowhere(const hsa_queue_t *queue, uint64_t expected, uint64_t value)
{
	(void)queue;
	(void)value;
	return expected;
}

static void store_nowhere(const hsa_queue_t *queue, uint64_t value)
{
	(void)queue;
	(void)value;
}

/* Wraps a function that reserves `packets` slots of `queue`. The calls of the next definition and
 * of first_NAME() are tail calls, so that the fast path saves no registers. For a function without
 * a result `return` has a void expression, which GNU C permits. */
#define RESERVE(name, result, none, packets, parameters, arguments)                                \
	static __typeof__(name) find_##name;                                                       \
	static __typeof__(name) *next_##name = find_##name;                                        \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&next_##name,                    \
			     (void *)find_##name};                                                 \
	static COLD result find_##name parameters                                                  \
	{                                                                                          \
		return ((__typeof__(name) *)next_find(&entry_##name, (void *)none))arguments;      \
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
/* RESERVE is written out for each function, because cppcheck 2.10 fails on a macro around it. */
#define ADD (const hsa_queue_t *queue, uint64_t value)
RESERVE(hsa_queue_add_write_index_relaxed, uint64_t, add_nowhere, value, ADD, (queue, value))
RESERVE(hsa_queue_add_write_index_scacquire, uint64_t, add_nowhere, value, ADD, (queue, value))
RESERVE(hsa_queue_add_write_index_screlease, uint64_t, add_nowhere, value, ADD, (queue, value))
RESERVE(hsa_queue_add_write_index_scacq_screl, uint64_t, add_nowhere, value, ADD, (queue, value))
/* The names of HSA 1.0, which all runtimes still export. */
RESERVE(hsa_queue_add_write_index_acquire, uint64_t, add_nowhere, value, ADD, (queue, value))
RESERVE(hsa_queue_add_write_index_release, uint64_t, add_nowhere, value, ADD, (queue, value))
RESERVE(hsa_queue_add_write_index_acq_rel, uint64_t, add_nowhere, value, ADD, (queue, value))

/* The agent is notified before the exchange, which does no harm if the exchange then fails. */
#define CAS (const hsa_queue_t *queue, uint64_t expected, uint64_t value)
RESERVE(hsa_queue_cas_write_index_relaxed, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_scacquire, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_screlease, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_scacq_screl, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
/* HSA 1.0 */
RESERVE(hsa_queue_cas_write_index_acquire, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_release, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))
RESERVE(hsa_queue_cas_write_index_acq_rel, uint64_t, cas_nowhere, value - expected, CAS,
	(queue, expected, value))

#define STORE (const hsa_queue_t *queue, uint64_t value)
RESERVE(hsa_queue_store_write_index_relaxed, void, store_nowhere, 1, STORE, (queue, value))
RESERVE(hsa_queue_store_write_index_screlease, void, store_nowhere, 1, STORE, (queue, value))
/* HSA 1.0 */
RESERVE(hsa_queue_store_write_index_release, void, store_nowhere, 1, STORE, (queue, value))

/* Wraps a function that starts a copy. The agent is notified afterwards, because only then has the
 * runtime moved the write pointer of the queue that it chose. Old runtimes (5.2.3) have no
 * hsa_amd_memory_async_copy_on_engine. It is wrapped nevertheless, because HIP 6 and 7 copy by it;
 * a program that searches for the name under an old runtime finds this one, which returns an
 * error. */
#define COPY(name, none_name, parameters, arguments)                                               \
	static hsa_status_t none_name parameters                                                   \
	{                                                                                          \
		return HSA_STATUS_ERROR;                                                           \
	}                                                                                          \
	static __typeof__(name) find_##name;                                                       \
	static __typeof__(name) *next_##name = find_##name;                                        \
	NEXT entry_##name = {#name, (void *)name, (next_pointer *)&next_##name,                    \
			     (void *)find_##name};                                                 \
	static COLD hsa_status_t find_##name parameters                                            \
	{                                                                                          \
		return ((__typeof__(name) *)next_find(&entry_##name, (void *)none_name))arguments; \
	}                                                                                          \
	EXPORT hsa_status_t name parameters                                                        \
	{                                                                                          \
		hsa_status_t status = __atomic_load_n(&next_##name, __ATOMIC_RELAXED) arguments;   \
                                                                                                   \
		copied(completion.handle);                                                         \
		return status;                                                                     \
	}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
COPY(hsa_amd_memory_async_copy, copy_nowhere,
     (void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t size,
      uint32_t waits, const hsa_signal_t *wait_for, hsa_signal_t completion),
     (to, to_agent, from, from_agent, size, waits, wait_for, completion))
COPY(hsa_amd_memory_async_copy_on_engine, copy_engine_nowhere,
     (void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t size,
      uint32_t waits, const hsa_signal_t *wait_for, hsa_signal_t completion,
      hsa_amd_sdma_engine_id_t engine, bool force),
     (to, to_agent, from, from_agent, size, waits, wait_for, completion, engine, force))
COPY(hsa_amd_memory_async_copy_rect, copy_rect_nowhere,
     (const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_offset, const hsa_pitched_ptr_t *from,
      const hsa_dim3_t *from_offset, const hsa_dim3_t *range, hsa_agent_t agent,
      hsa_amd_copy_direction_t direction, uint32_t waits, const hsa_signal_t *wait_for,
      hsa_signal_t completion),
     (to, to_offset, from, from_offset, range, agent, direction, waits, wait_for, completion))
#pragma GCC diagnostic pop
