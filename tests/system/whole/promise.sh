#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves the promise: beside saturating training, the online latency is bad in arm shared, and near the
# floor of the hardware when the daemon preempts; training keeps a part.
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
check "each arm says where the time went, to 100 % within 1" \
	'all(.arms[].time_percent; all(.[]; . >= 0) and (add | 99 < . and . < 101))'
check "alone, offline runs or has gaps of its own" \
	'.arms.alone.time_percent | .offline_ran > 90 and .offline_ran + .own_gaps > 99'
check "under trap, bounces and online work have their part, and offline ran for what it kept" \
	'.arms | (.trap.time_percent | .online > 10 and .bounces > 0 and .save_restore > 0) and
	(.trap.time_percent.offline_ran / .alone.time_percent.offline_ran - .trap.offline.steps / .alone.offline.steps |
	 -0.1 < . and . < 0.1)'
check "it was done by suspending" '.arms.trap.suspends > 10 and .arms.shared.suspends == 0'
