// SPDX-License-Identifier: MIT
/* A stub of libamdhip64, which calls the runtime through its PLT. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

void hsa_signal_store_screlease(uint64_t signal, int64_t value);
int64_t hsa_signal_wait_scacquire(uint64_t signal, unsigned condition, int64_t compare,
				  uint64_t timeout, unsigned state);
EXPORT int64_t framework_store_and_wait(int64_t kind, int64_t value);

int64_t framework_store_and_wait(int64_t kind, int64_t value)
{
	int64_t signal[8] = {kind};

	hsa_signal_store_screlease((uint64_t)(uintptr_t)signal, value);
	return hsa_signal_wait_scacquire((uint64_t)(uintptr_t)signal, 0, value, 0, 0);
}
