// SPDX-License-Identifier: MIT
/* Adds up each client's time by category (enum core_time). Each decision sets the category of the
 * time that follows; the next decision adds this time to the category. */
#include "scheduler/core/sched_priv.h"

const char *core_time_name(enum core_time time)
{
	static const char *const names[CORE_TIMES] = {
		[CORE_TIME_RUNNING] = "running",       [CORE_TIME_IDLE] = "idle",
		[CORE_TIME_SUSPENDING] = "suspending", [CORE_TIME_HELD] = "held",
		[CORE_TIME_HELD_OVER] = "held_over",   [CORE_TIME_REQUESTED] = "ordered",
		[CORE_TIME_RESUMING] = "resuming",
	};

	return names[time];
}

static bool is_leased(const struct core *core, const struct gang *gang, uint64_t now)
{
	FOR_CLIENTS (core, gang, c)
		if (c->lease_until > now)
			return true;
	return false;
}

/* Returns the category that a client's time belongs to in its present state. */
static enum core_time time_of(const struct core_client *c, const struct gang *gang, bool leased)
{
	switch (c->state) {
	case CORE_RUNNING:
		return node_set_any(&c->active) ? CORE_TIME_RUNNING : CORE_TIME_IDLE;
	case CORE_SUSPENDING:
		return CORE_TIME_SUSPENDING;
	case CORE_RESUMING:
		return CORE_TIME_RESUMING;
	case CORE_SUSPENDED:
		break;
	}
	if (!gang->held) /* a resume has failed and is tried again */
		return CORE_TIME_RESUMING;
	if (leased)
		return CORE_TIME_REQUESTED;
	return gang->contended ? CORE_TIME_HELD : CORE_TIME_HELD_OVER;
}

/* Returns the time since the client's times were last updated, in ns. Returns 0 if the client was
 * added after `now`, the time of the decision for the other clients. */
static uint64_t passed(const struct core_client *c, uint64_t now)
{
	return now > c->time_since ? now - c->time_since : 0;
}

void client_times(const struct core_client *c, uint64_t now, uint64_t out[CORE_TIMES])
{
	for (unsigned i = 0; i < CORE_TIMES; i++)
		out[i] = c->time_ns[i];
	out[c->time] += passed(c, now);
}

void gang_account(const struct core *core, const struct gang *gang, uint64_t now)
{
	bool leased = is_leased(core, gang, now);

	FOR_CLIENTS (core, gang, c) {
		uint64_t ns = passed(c, now);

		c->time_ns[c->time] += ns;
		c->time_since += ns;
		c->time = time_of(c, gang, leased);
	}
}
