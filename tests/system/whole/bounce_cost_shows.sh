#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, as a negative control: if a bounce costs 20 ms, preemption costs offline work. Otherwise the
# cost model or the measurement would be wrong.
set -eu
# shellcheck source=tests/lib/whole_colocate.inc.sh
. "$SOURCE/tests/lib/whole_colocate.inc.sh"

export ARMS=shared,trap
colocate 2 --set bounce_us=20000
check "the cost is the one that was set" '.costs.bounce_us == 20000'
check "trap suspended" '.arms.trap.suspends > 0'
check "offline under trap falls below 60 % of shared" \
	'.arms.trap.offline.steps < 0.6 * .arms.shared.offline.steps'
