#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --report: written whether the command ended well or not; no file stays
# behind where no world came to be.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

# report CODE: is it whole, and with that exit code?
report() {
	# One object and nothing beside it: jq alone passes over what comes before.
	jq -es --argjson code "$1" 'length == 1 and (.[0] | .simulated == true and .profile == "mi210" and .exit_code == $code
		and .time_scale == 0.5 and (.processes | type == "array") and (.kernels | type == "array")
		and (.ioctls | type == "array") and has("sync_wake") and has("unknown_ioctls")
		and .bounces == 0 and (.doorbell_delay_ns | has("buckets")))' \
		"$DIR/r.json" >/dev/null || fail "not as docs/formats.md says: $(cat "$DIR/r.json")"
}

expect 0 "$KFDSIM" --time-scale 0.5 --report "$DIR/r.json" -- true
report 0
# Longer than what comes: nothing of it may stay.
head -c 100000 /dev/zero | tr '\0' x >"$DIR/r.json"
expect 7 "$KFDSIM" --time-scale 0.5 --report "$DIR/r.json" -- sh -c 'exit 7'
report 7
# shellcheck disable=SC2016
expect 137 "$KFDSIM" --time-scale 0.5 --report "$DIR/r.json" -- sh -c 'kill -KILL $$'
report 137
expect 127 "$KFDSIM" --time-scale 0.5 --report "$DIR/r.json" -- no-such-command
report 127
# Nothing that is said may get into it where stderr is closed.
expect 127 sh -c "exec '$KFDSIM' --time-scale 0.5 --report '$DIR/r.json' -- no-such-command 2>&-"
report 127
expect 0 "$KFDSIM" --time-scale 0.5 --report /dev/stdout -- true
cp "$DIR/out" "$DIR/r.json"
report 0
rm "$DIR/r.json"
expect 77 "$KFDSIM" -- "$KFDSIM" --report "$DIR/r.json" -- true
[ ! -e "$DIR/r.json" ] || fail "a report without a world"
# A report that cannot be written to its end is not passed over.
expect 1 "$KFDSIM" --report /dev/full -- true
said 'cannot write the report'
