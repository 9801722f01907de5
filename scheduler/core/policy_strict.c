// SPDX-License-Identifier: MIT
/* Policy strict. A gang (clients held together) is held as soon as more urgent work is active. */
#include "scheduler/core/policy_ops.h"

const struct policy_ops policy_strict = {.contention = CONTENDED};
