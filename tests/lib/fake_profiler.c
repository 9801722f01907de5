// SPDX-License-Identifier: MIT
/* A tools library that does as profilers do: each queue that a program makes is an
 * intercept queue, which passes every packet on as it is. */
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
