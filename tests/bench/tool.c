// SPDX-License-Identifier: MIT
/*
 * A tools library of the HSA runtime, for comparison: two other ways to observe work. With
 * BENCH_TOOL=table it hooks the signal stores in the API table and records doorbells. With
 * BENCH_TOOL=intercept each queue is an intercept queue, whose handler forwards every packet
 * unchanged.
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
static uint64_t rung; /* the last doorbell; atomic */

bool OnLoad(char *table, uint64_t version, uint64_t failed_count, const char *const *failed);

/* Records a doorbell. An amd_signal_t begins with its kind, which is negative for a doorbell. */
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
