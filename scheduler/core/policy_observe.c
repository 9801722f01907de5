// SPDX-License-Identifier: MIT
/* Policy observe. No gang makes way; what strict would hold is counted. */
#include "scheduler/core/policy_ops.h"

const struct policy_ops policy_observe = {.contention = OBSERVED};
