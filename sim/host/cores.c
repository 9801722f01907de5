// SPDX-License-Identifier: MIT
#include "sim/host/cores.h"

#include <sched.h>

/* Returns the last core that the caller may use; -1 if it is unknown. */
static int core_of_sim(const cpu_set_t *allowed)
{
	for (int core = CPU_SETSIZE - 1; core >= 0; core--)
		if (CPU_ISSET(core, allowed))
			return core;
	return -1;
}

void cores_of_sim(void)
{
	const struct sched_param none = {0}, lowest = {.sched_priority = 1};
	cpu_set_t cores;
	int core = sched_getaffinity(0, sizeof(cores), &cores) ? -1 : core_of_sim(&cores);

	if (core >= 0) {
		CPU_ZERO(&cores);
		CPU_SET(core, &cores);
		sched_setaffinity(0, sizeof(cores), &cores);
	}
	/* Use round robin, not FIFO: a thread that spins until another thread acts would otherwise
	 * keep that thread from the core forever. */
	if (sched_setscheduler(0, SCHED_RR, &lowest))
		sched_setscheduler(0, SCHED_BATCH, &none);
}

void cores_of_supervisor(void)
{
	cpu_set_t cores;
	int core = sched_getaffinity(0, sizeof(cores), &cores) ? -1 : core_of_sim(&cores);

	if (core < 0 || CPU_COUNT(&cores) == 1)
		return;
	CPU_CLR(core, &cores);
	sched_setaffinity(0, sizeof(cores), &cores);
}
