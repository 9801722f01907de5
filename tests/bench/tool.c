// SPDX-License-Identifier: MIT
/*
 * A tools library of the HSA runtime, as others see work: for comparison. With
 * BENCH_TOOL=table it stands in the API table before each store and marks doorbells;
 * with BENCH_TOOL=intercept each queue is an intercept queue, and every packet comes
 * by a handler that passes it on as it is.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/intercept.h"

#define CORE_STORE_RELAXED 344
#define CORE_STORE_SCRELEASE 352

typedef void store_fn(hsa_signal_t signal, hsa_signal_value_t value);

static store_fn *next_relaxed, *next_screlease;
static uint64_t rung; /* atomic: the last doorbell */

bool OnLoad(char *table, uint64_t version, uint64_t failed_count, const char *const *failed);

/* An amd_signal_t begins with its kind; a doorbell's is negative. */
static void mark(hsa_signal_t signal)
{
	if (*(const int64_t *)(uintptr_t)signal.handle < 0)
		__atomic_store_n(&rung, signal.handle, __ATOMIC_RELAXED);
}

static void store_relaxed(hsa_signal_t signal, hsa_signal_value_t value)
{
	mark(signal);
	next_relaxed(signal, value);
}

static void store_screlease(hsa_signal_t signal, hsa_signal_value_t value)
{
	mark(signal);
	next_screlease(signal, value);
}

bool OnLoad(char *table, uint64_t version, uint64_t failed_count, const char *const *failed)
{
	const char *what = getenv("BENCH_TOOL");
	char *core = intercept_entry(table, ROOT_CORE);

	(void)failed_count;
	(void)failed;
	if (!what)
		return false;
	if (!strcmp(what, "table")) {
		next_relaxed = (store_fn *)intercept_entry(core, CORE_STORE_RELAXED);
		next_screlease = (store_fn *)intercept_entry(core, CORE_STORE_SCRELEASE);
		*(store_fn **)(void *)(core + CORE_STORE_RELAXED) = store_relaxed;
		*(store_fn **)(void *)(core + CORE_STORE_SCRELEASE) = store_screlease;
	} else {
		intercept_queues(table, version);
	}
	return true;
}
