// SPDX-License-Identifier: MIT
/*
 * With --seed the threads of the simulation take turns on one core (sim/host/virtual.c). A thread
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

#define UNLESS_TURNS(name, parameters, otherwise)                                                  \
	EXPORT_AS(int, name, parameters, take_turns() ? 0 : (int)(otherwise))

UNLESS_TURNS(sched_setaffinity, (pid_t pid, size_t size, const cpu_set_t *cores),
	     returned(raw(SYS_sched_setaffinity, pid, (long)size, (long)cores, 0, 0, 0)))
UNLESS_TURNS(sched_setscheduler, (pid_t pid, int policy, const struct sched_param *param),
	     returned(raw(SYS_sched_setscheduler, pid, policy, (long)param, 0, 0, 0)))
UNLESS_TURNS(pthread_setaffinity_np, (pthread_t thread, size_t size, const cpu_set_t *cores),
	     next()->pthread_setaffinity_np(thread, size, cores))
UNLESS_TURNS(pthread_attr_setaffinity_np,
	     (pthread_attr_t * attributes, size_t size, const cpu_set_t *cores),
	     next()->pthread_attr_setaffinity_np(attributes, size, cores))
UNLESS_TURNS(pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *param),
	     next()->pthread_setschedparam(thread, policy, param))
