// SPDX-License-Identifier: MIT
/*
 * A stub of libkfdshim.so for the tests of the Python package: the functions of kfdshim.h, which
 * record their calls in variables that the tests read.
 */
#include <signal.h>

#define KFDSHIM_NO_MACROS
#include "include/kfdshim.h"

#define API __attribute__((visibility("default")))

API int stub_requests, stub_begun, stub_priority = -1, stub_interrupts;
API long long stub_slo_us = -1;

API void kfdshim_request_begin(void)
{
	stub_requests++;
	stub_begun++;
	if (stub_interrupts)
		raise(SIGINT);
}

API void kfdshim_request_end(void)
{
	if (stub_interrupts)
		raise(SIGINT);
	stub_requests--;
}

API int kfdshim_set_priority(int priority)
{
	stub_priority = priority;
	return 0;
}

API int kfdshim_set_slo(long long microseconds)
{
	stub_slo_us = microseconds;
	return 0;
}
