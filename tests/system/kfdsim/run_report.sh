#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --report: written whether the command ended well or not; no file stays
# behind where no world came to be.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# reported CODE: it is whole, and with that exit code.
reported() {
	# One object and nothing beside it: jq alone passes over what comes before.
	jq -es --argjson code "$1" 'length == 1 and (.[0] | .simulated == true and .profile == "mi210" and .exit_code == $code
		and .time_scale == 0.5 and (.processes | type == "array") and (.kernels | type == "array")
		and (.ioctls | type == "array") and has("sync_wake") and has("unknown_ioctls")
		and .bounces == 0 and (.doorbell_delay_ns | has("buckets")))' \
		"$work/r.json" >/dev/null || fail "not as docs/reference/kfdsim-report.md says: $(cat "$work/r.json")"
}

expect 0 "$BUILD/kfdsim" --time-scale 0.5 --report "$work/r.json" -- true
reported 0
# Longer than what comes: nothing of it may stay.
head -c 100000 /dev/zero | tr '\0' x >"$work/r.json"
expect 7 "$BUILD/kfdsim" --time-scale 0.5 --report "$work/r.json" -- sh -c 'exit 7'
reported 7
# shellcheck disable=SC2016
expect 137 "$BUILD/kfdsim" --time-scale 0.5 --report "$work/r.json" -- sh -c 'kill -KILL $$'
reported 137
expect 127 "$BUILD/kfdsim" --time-scale 0.5 --report "$work/r.json" -- no-such-command
reported 127
# Nothing that is said may get into it where stderr is closed.
expect 127 sh -c "exec '$BUILD/kfdsim' --time-scale 0.5 --report '$work/r.json' -- no-such-command 2>&-"
reported 127
expect 0 "$BUILD/kfdsim" --time-scale 0.5 --report /dev/stdout -- true
cp "$work/out" "$work/r.json"
reported 0
rm "$work/r.json"
expect 77 "$BUILD/kfdsim" -- "$BUILD/kfdsim" --report "$work/r.json" -- true
[ ! -e "$work/r.json" ] || fail "a report without a world"
# A report that cannot be written to its end is not passed over.
expect 1 "$BUILD/kfdsim" --report /dev/full -- true
one_line 'cannot write the report'
