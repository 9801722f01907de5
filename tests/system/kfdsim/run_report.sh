#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: --report is written whether the command succeeded or not; if no simulation could start, no
# file is left.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# reported CODE: the report is complete and has that exit code.
reported() {
	# The file has one object and nothing else: jq alone would skip what comes before.
	jq -es --argjson code "$1" 'length == 1 and (.[0] | .simulated == true and .profile == "mi210" and .exit_code == $code
		and .time_scale == 0.5 and (.processes | type == "array") and (.kernels | type == "array")
		and (.ioctls | type == "array") and has("sync_wake") and has("unknown_ioctls")
		and .bounces == 0 and (.doorbell_delay_ns | has("buckets")))' \
		"$work/r.json" >/dev/null || fail "not as docs/reference/kfdsim-report.md says: $(cat "$work/r.json")"
}

expect 0 "$BUILD/kfdsim" --time-scale 0.5 --report "$work/r.json" -- true
reported 0
# The old file is longer than the report: nothing of it may remain.
head -c 100000 /dev/zero | tr '\0' x >"$work/r.json"
expect 7 "$BUILD/kfdsim" --time-scale 0.5 --report "$work/r.json" -- sh -c 'exit 7'
reported 7
# shellcheck disable=SC2016
expect 137 "$BUILD/kfdsim" --time-scale 0.5 --report "$work/r.json" -- sh -c 'kill -KILL $$'
reported 137
expect 127 "$BUILD/kfdsim" --time-scale 0.5 --report "$work/r.json" -- no-such-command
reported 127
# If stderr is closed, no message may get into the report.
expect 127 sh -c "exec '$BUILD/kfdsim' --time-scale 0.5 --report '$work/r.json' -- no-such-command 2>&-"
reported 127
expect 0 "$BUILD/kfdsim" --time-scale 0.5 --report /dev/stdout -- true
cp "$work/out" "$work/r.json"
reported 0
rm "$work/r.json"
expect 77 "$BUILD/kfdsim" -- "$BUILD/kfdsim" --report "$work/r.json" -- true
[ ! -e "$work/r.json" ] || fail "a report without a world"
# A report that cannot be written completely is an error.
expect 1 "$BUILD/kfdsim" --report /dev/full -- true
one_line 'cannot write the report'
