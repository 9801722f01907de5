// SPDX-License-Identifier: MIT
/* Policy observe. No gang (clients held together) is held. The gangs that policy strict would hold
 * are counted. */
#include "scheduler/core/policy_ops.h"

const struct policy_ops policy_observe = {.contention = OBSERVED};
