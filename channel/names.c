// SPDX-License-Identifier: MIT
/* Names of values in client shared memory, for the shim's log, the daemon's status and dumps. */
#include "channel/client_shm.h"

static const char *name_of(const char *const *names, uint32_t n, uint32_t value)
{
	return value < n ? names[value] : "?";
}
#define NAME_OF(names, value) name_of(names, sizeof(names) / sizeof(*(names)), value)

const char *lane_level_name(uint32_t level)
{
	static const char *const names[] = {
		[LANE_LEVEL_NONE] = "none",
		[LANE_LEVEL_SELF] = "self",
		[LANE_LEVEL_GATE] = "gate",
		[LANE_LEVEL_WEIGHT] = "weight",
	};

	return NAME_OF(names, level);
}

const char *lane_state_name(uint32_t state)
{
	static const char *const names[] = {
		[LANE_QUEUE_IDLE] = "idle",
		[LANE_QUEUE_ACTIVE] = "active",
		[LANE_QUEUE_BLOCKED] = "blocked",
	};

	return NAME_OF(names, state);
}

const char *lane_event_name(uint32_t kind)
{
	static const char *const names[LANE_EVENT_KINDS] = {
		[LANE_EVENT_NONE] = "none",
		[LANE_EVENT_QUEUE_CREATED] = "created",
		[LANE_EVENT_QUEUE_UPDATED] = "updated",
		[LANE_EVENT_QUEUE_DESTROYED] = "destroyed",
		[LANE_EVENT_QUEUE_ACTIVE] = "active",
		[LANE_EVENT_QUEUE_IDLE] = "idle",
		[LANE_EVENT_QUEUE_BLOCKED] = "blocked",
		[LANE_EVENT_HELD] = "held",
		[LANE_EVENT_RELEASED] = "released",
		[LANE_EVENT_SESSION] = "session",
		[LANE_EVENT_RUNTIME] = "runtime",
		[LANE_EVENT_FAILED] = "failed",
	};

	return NAME_OF(names, kind);
}
