// SPDX-License-Identifier: MIT
/*
 * With --seed the threads of the simulation take turns on one core (sim/host/cores.h). A thread
 * that left that core, or had another policy, would run beside the others. Programs try both: the
 * HSA runtime allows its threads all cores, and kfdschedd sets a real-time priority. These calls
 * then do nothing and return success.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "sim/host/time/library.h"

static bool take_turns(void)
{
	const struct time_page *page = time_page();

	return page && page->turns;
}

EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cores)
{
	if (take_turns())
		return 0;
	return (int)returned(raw(SYS_sched_setaffinity, pid, (long)size, (long)cores, 0, 0, 0));
}

EXPORT int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	if (take_turns())
		return 0;
	return (int)returned(raw(SYS_sched_setscheduler, pid, policy, (long)param, 0, 0, 0));
}

EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *cores)
{
	return take_turns() ? 0 : next()->pthread_setaffinity_np(thread, size, cores);
}

EXPORT int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size,
				       const cpu_set_t *cores)
{
	return take_turns() ? 0 : next()->pthread_attr_setaffinity_np(attributes, size, cores);
}

EXPORT int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
	return take_turns() ? 0 : next()->pthread_setschedparam(thread, policy, param);
}
