// SPDX-License-Identifier: MIT
/*
 * A server that reports its requests to libkfdshim.so. From the top directory:
 *
 *     cc -Iinclude -o request examples/request.c
 *     LD_PRELOAD=libkfdshim.so ./request
 *
 * Between kfdshim_request_begin() and kfdshim_request_end() this process counts as active on its
 * GPUs, so that no offline work starts while the CPU prepares the next kernel. Without the library
 * the calls do nothing.
 */
#include <stdio.h>
#include <time.h>

#include "kfdshim.h"

static void serve(int number)
{
	/* A real server would launch kernels here. */
	const struct timespec work = {.tv_nsec = 5000000};

	nanosleep(&work, NULL);
	printf("request %d served\n", number);
}

int main(void)
{
	if (kfdshim_set_priority(15) != 0 || kfdshim_set_slo(20000) != 0) {
		fprintf(stderr, "priority or SLO is out of range\n");
		return 1;
	}
	for (int i = 1; i <= 3; i++) {
		kfdshim_request_begin();
		serve(i);
		kfdshim_request_end();
	}
	return 0;
}
