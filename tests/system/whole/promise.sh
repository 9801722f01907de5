#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The promise: beside saturating training, online latency is bad when shared,
# and near the hardware's floor when the daemon preempts; training keeps a part.
set -eu
# shellcheck source=tests/lib/whole_colocate.inc.sh
. "$SOURCE/tests/lib/whole_colocate.inc.sh"

colocate 2
check "the run is valid" '.valid and .simulated and .time_scale == 1'
check "alone keeps up" '.arms.alone.online.keeps_up'
check "trap keeps up" '.arms.trap.online.keeps_up'
check "trap P99 is at most 1.05 x (alone P99 + 2 bounces + save)" \
	'.arms.trap.online.p99_us <= 1.05 * (.arms.alone.online.p99_us + 2 * .costs.bounce_us + .costs.save_us)'
check "shared is far worse" \
	'(.arms.shared.online.keeps_up | not) or .arms.shared.online.p99_us > 5 * .arms.alone.online.p99_us'
check "offline under trap keeps at least a fifth of alone" \
	'.arms.trap.offline.steps >= 0.2 * .arms.alone.offline.steps'
check "it was done by suspending" '.arms.trap.suspends > 10 and .arms.shared.suspends == 0'
