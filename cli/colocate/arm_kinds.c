// SPDX-License-Identifier: MIT
#include "cli/colocate/arm_kinds.h"

#include "cli/colocate/result_time.h"

const struct arm_kind arm_kinds[ARM_COUNT] = {
	[ARM_ALONE] = {.name = "alone", .by_default = true},
	[ARM_SHARED] = {.name = "shared", .by_default = true},
	[ARM_TRAP] = {.name = "trap",
		      .by_default = true,
		      .daemon = true,
		      .preempts = true,
		      .level = "trap"},
	[ARM_SELF] = {.name = "self",
		      .daemon = true,
		      .preempts = true,
		      .level = "self",
		      .level_setting = "self",
		      .beyond = "without waking the agents of the offline processes"},
	/* Nothing is suspended, so kfdsim sees the GPU idle, and not held, while threads wait. */
	[ARM_GATE] = {.name = "gate",
		      .daemon = true,
		      .level = "gate",
		      .level_setting = "gate",
		      .unknown = 1u << TIME_DETECTION | 1u << TIME_HOLD_OVER |
				 1u << TIME_IDLE_HELD | 1u << TIME_OWN_GAPS,
		      .beyond = "without the work that offline has submitted"},
	/* Only a daemon says for how long it holds over. */
	[ARM_PEERS] = {.name = "peers",
		       .preempts = true,
		       .level = "self",
		       .level_setting = "self",
		       .unknown = 1u << TIME_DETECTION | 1u << TIME_HOLD_OVER,
		       .beyond = "without waking the agents of the offline processes"},
};
