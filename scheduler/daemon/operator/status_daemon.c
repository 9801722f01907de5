// SPDX-License-Identifier: MIT
/* Adds the daemon's version and its failure counters to the object "daemon" of the status. */
#include "scheduler/daemon/operator/status.h"

static json_t *count(const uint64_t *at)
{
	return json_integer((json_int_t)__atomic_load_n(at, __ATOMIC_RELAXED));
}

void status_about(const struct worker *worker, json_t *daemon)
{
	json_object_set_new(daemon, "version", json_string(KFDSHIM_VERSION));
	json_object_set_new(daemon, "worker_restarts", count(&worker->shared->restarts));
	json_object_set_new(daemon, "refused_calls", count(&worker->shared->refused_calls));
}
