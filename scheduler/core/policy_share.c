// SPDX-License-Identifier: MIT
/* Policy share. As policy strict, but a contended gang (clients held together) runs for a share of
 * each window. */
#include "scheduler/core/policy_ops.h"

/* Returns the gang's time off the GPU in the share window of `now`, in ns. The time from `since` to
 * `now` counts as off the GPU. */
static uint64_t off_in_window(const struct core *core, const struct gang *gang, uint64_t since,
			      uint64_t now)
{
	uint64_t window = now / core->config.share_window_ns;
	uint64_t begin = window * core->config.share_window_ns;

	return (gang->window == window ? gang->window_off_ns : 0) +
	       (now - (since > begin ? since : begin));
}

uint64_t share_left(const struct core *core, const struct gang *gang, uint32_t percent,
		    uint64_t now)
{
	uint64_t most = core->config.share_window_ns / 100 * (100 - percent);
	uint64_t off = off_in_window(core, gang, gang->held ? gang->held_since : now, now) +
		       gang->resume_ns;

	return off < most ? most - off : 0;
}

uint64_t share_window_end(const struct core *core, uint64_t now)
{
	return (now / core->config.share_window_ns + 1) * core->config.share_window_ns;
}

void share_count(const struct core *core, struct gang *gang, uint64_t since, uint64_t now)
{
	gang->window_off_ns = off_in_window(core, gang, since, now);
	gang->window = now / core->config.share_window_ns;
}

const struct policy_ops policy_share = {.contention = CONTENDED, .shares = true};
