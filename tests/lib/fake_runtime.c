// SPDX-License-Identifier: MIT
/* A stub of libhsa-runtime64.so.1 for tests of symbol lookup. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void hsa_signal_store_screlease(uint64_t signal, int64_t value);
EXPORT int64_t hsa_signal_wait_scacquire(uint64_t signal, unsigned condition, int64_t compare,
					 uint64_t timeout, unsigned state);

void hsa_signal_store_screlease(uint64_t signal, int64_t value)
{
	((int64_t *)signal)[1] = value;
}

int64_t hsa_signal_wait_scacquire(uint64_t signal, unsigned condition, int64_t compare,
				  uint64_t timeout, unsigned state)
{
	(void)condition;
	(void)compare;
	(void)timeout;
	(void)state;
	return ((int64_t *)signal)[1] + 1000;
}
