#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the report balances packets: what the GPU took was executed or discarded, whether the queue
# was drained, destroyed with work in it, or ended with its process.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

# The time is virtual in every build, because a kernel must still run when its queue is stopped.
expect 0 "$BUILD/kfdsim" --virtual --report "$report" -- "$BUILD/kfdconform" percent_0_stops_the_queue \
	update_starts_a_stopped_queue destroy_drops_the_work a_reused_doorbell_is_silent

queues 'length > 3' 'all(.submitted == .packets + .discarded)' 'any(.discarded > 0)' 'any(.packets > 0)' \
	'all(.timed_only <= .dispatches)'
