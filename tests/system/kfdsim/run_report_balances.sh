#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The report's packets: what the GPU took was executed or discarded, whatever
# became of its queue: drained, destroyed with work in it, gone with its process.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

expect 0 "$KFDSIM" --report "$DIR/r.json" -- "$BUILD/kfdconform" percent_0_stops_the_queue \
	update_starts_a_stopped_queue destroy_drops_the_work a_reused_doorbell_is_silent

# queues FILTER: does it hold for the list of all queues?
queues() {
	jq -e "[.processes[].queues[]] | $1" "$DIR/r.json" >/dev/null ||
		fail "not so: $1; the queues: $(jq -c '.processes[].queues[]' "$DIR/r.json")"
}
queues 'length > 3'
queues 'all(.submitted == .packets + .discarded)'
queues 'any(.discarded > 0)'
queues 'any(.packets > 0)'
queues 'all(.timed_only <= .dispatches)'
