#!/bin/bash
# SPDX-License-Identifier: MIT
# --count: every workgroup of every request ran exactly once, and kfdsim's
# report says the same number.
set -eu
# shellcheck source=tests/replay/replay.inc.sh
. "$SOURCE/tests/replay/replay.inc.sh"

# The last request under way when time is up runs dry and is counted as well.
on_gpu --report "$DIR/report.json" -- \
	"$REPLAY" --trace "$RESNET" --seconds 2 --count --json "$JSON" >/dev/null
check '.count.submitted > 100000' '.count.executed == .count.submitted' '.count.twice == 0' \
	'.count.never == 0'
submitted=$(jq .count.submitted "$JSON")
jq -e "[.processes[].queues[].workgroups] | max == $submitted" "$DIR/report.json" >/dev/null ||
	fail "not $submitted workgroups in the report: $(jq -c .processes "$DIR/report.json")"
jq -e '.kernels[] | select(.name == "kfdreplay_spin") | .executed' "$DIR/report.json" >/dev/null ||
	fail "kfdsim did not execute the kernel: $(jq -c .kernels "$DIR/report.json")"

# Ten requests have 23400 workgroups each, on 104 compute units.
on_gpu -- "$REPLAY" --trace "$RESNET" --requests 10 --count --json "$JSON" >/dev/null
first=$(jq .count.submitted "$JSON")
on_gpu -- "$REPLAY" --trace "$RESNET" --requests 20 --count --json "$JSON" >/dev/null
check ".count.submitted == 2 * $first" '.count.executed == .count.submitted'
