// SPDX-License-Identifier: MIT
/* Defines the functions of kfdshim.h, and stores the program's settings until the agent is
 * loaded. */
#include <pthread.h>

#include "preload/preload_priv.h"
#define KFDSHIM_NO_MACROS
#include "include/kfdshim.h"

#define PRIORITY_MAX 15

static struct kfdshim_app_settings app_settings = {.priority = KFDSHIM_UNASKED,
						   .slo_us = KFDSHIM_UNASKED};

extern const struct kfdshim_app_settings program_settings __attribute__((alias("app_settings")));

/* Notifies the agent of a change. The fence orders the caller's store before the load of
 * agent_loaded: an agent that is being loaded at this moment either is found here, or reads the new
 * settings afterwards. */
static void notify_agent(void)
{
	const struct kfdshim_agent *agent;
	int saved = errno;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	agent = __atomic_load_n(&agent_loaded, __ATOMIC_ACQUIRE);
	if (agent)
		agent->app_settings_changed();
	errno = saved;
}

/* Forgets the requests in a fork child, because the parent ends those that it has begun. */
static void fork_child(void)
{
	__atomic_store_n(&app_settings.requests, 0, __ATOMIC_SEQ_CST);
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, fork_child);
}

EXPORT void kfdshim_request_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	if (__atomic_fetch_add(&app_settings.requests, 1, __ATOMIC_SEQ_CST) == 0)
		notify_agent();
}

EXPORT void kfdshim_request_end(void)
{
	int64_t n = __atomic_load_n(&app_settings.requests, __ATOMIC_SEQ_CST);

	/* Ignore an unmatched kfdshim_request_end(): the count never drops below zero, so the next
	 * kfdshim_request_begin() still marks the process as active. */
	do {
		if (n <= 0)
			return;
	} while (!__atomic_compare_exchange_n(&app_settings.requests, &n, n - 1, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	if (n == 1)
		notify_agent();
}

EXPORT int kfdshim_set_priority(int priority)
{
	if (priority < 0 || priority > PRIORITY_MAX)
		return -EINVAL;
	if (__atomic_exchange_n(&app_settings.priority, priority, __ATOMIC_SEQ_CST) != priority)
		notify_agent();
	return 0;
}

EXPORT int kfdshim_set_slo(long long microseconds)
{
	if (microseconds < 0 || microseconds > UINT32_MAX)
		return -EINVAL;
	if (__atomic_exchange_n(&app_settings.slo_us, microseconds, __ATOMIC_SEQ_CST) !=
	    microseconds)
		notify_agent();
	return 0;
}
