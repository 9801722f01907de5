// SPDX-License-Identifier: MIT
/*
 * A tools library of the HSA runtime that intercepts queues as profilers do: each queue that the
 * program creates becomes an intercept queue, whose handler forwards every packet unchanged.
 */
#include <stdbool.h>
#include <stdint.h>

#include "tests/bench/intercept.h"

bool OnLoad(char *table, uint64_t version, uint64_t failed_count, const char *const *failed);

bool OnLoad(char *table, uint64_t version, uint64_t failed_count, const char *const *failed)
{
	(void)failed_count;
	(void)failed;
	intercept_queues(table, version);
	return true;
}
