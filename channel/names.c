// SPDX-License-Identifier: MIT
/* Names of values in client shared memory, for the shim's log, the daemon's status and dumps. */
#include "channel/client_shm.h"

static const char *name_of(const char *const *names, uint32_t n, uint32_t value)
{
	return value < n ? names[value] : "?";
}
#define NAME_OF(names, value) name_of(names, sizeof(names) / sizeof(*(names)), value)

const char *client_shm_level_name(uint32_t level)
{
	static const char *const names[] = {
		[CLIENT_SHM_LEVEL_NONE] = "none",
		[CLIENT_SHM_LEVEL_SELF] = "self",
		[CLIENT_SHM_LEVEL_GATE] = "gate",
		[CLIENT_SHM_LEVEL_WEIGHT] = "weight",
	};

	return NAME_OF(names, level);
}

const char *client_shm_state_name(uint32_t state)
{
	static const char *const names[] = {
		[CLIENT_SHM_QUEUE_IDLE] = "idle",
		[CLIENT_SHM_QUEUE_ACTIVE] = "active",
		[CLIENT_SHM_QUEUE_BLOCKED] = "blocked",
	};

	return NAME_OF(names, state);
}

const char *client_shm_event_name(uint32_t kind)
{
	static const char *const names[CLIENT_SHM_EVENT_KINDS] = {
		[CLIENT_SHM_EVENT_NONE] = "none",
		[CLIENT_SHM_EVENT_QUEUE_CREATED] = "created",
		[CLIENT_SHM_EVENT_QUEUE_UPDATED] = "updated",
		[CLIENT_SHM_EVENT_QUEUE_DESTROYED] = "destroyed",
		[CLIENT_SHM_EVENT_QUEUE_ACTIVE] = "active",
		[CLIENT_SHM_EVENT_QUEUE_IDLE] = "idle",
		[CLIENT_SHM_EVENT_QUEUE_BLOCKED] = "blocked",
		[CLIENT_SHM_EVENT_HELD] = "held",
		[CLIENT_SHM_EVENT_RELEASED] = "released",
		[CLIENT_SHM_EVENT_SESSION] = "session",
		[CLIENT_SHM_EVENT_RUNTIME] = "runtime",
		[CLIENT_SHM_EVENT_FAILED] = "failed",
	};

	return NAME_OF(names, kind);
}
