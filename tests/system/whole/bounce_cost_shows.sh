#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Negative control: when a bounce costs 20 ms, preempting must show as lost
# offline work. If it does not, the cost model or the instrument is a fake.
set -eu
# shellcheck source=tests/lib/whole_colocate.inc.sh
. "$SOURCE/tests/lib/whole_colocate.inc.sh"

export ARMS=shared,trap
colocate 2 --set bounce_us=20000
check "the cost is the one that was set" '.costs.bounce_us == 20000'
check "trap suspended" '.arms.trap.suspends > 0'
check "offline under trap falls below 60 % of shared" \
	'.arms.trap.offline.steps < 0.6 * .arms.shared.offline.steps'
