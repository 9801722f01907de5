#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves (switch.sh KEY RULE): with --set KEY=1 the driver breaks exactly RULE of those for suspending,
# and with KEY=0 none, so that the check distinguishes the two kinds of GPU.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

key=$1 rule=$2
rules=$("$BUILD/kfdconform" --list | grep -E '^(suspend|resume|unmatched|mixed|unknown_ids|input_bit|only_named|queue_snapshot)_')

fails_with() {
	# shellcheck disable=SC2086 # several names
	"$BUILD/kfdsim" --set "$key=$1" -- "$BUILD/kfdconform" --json $rules </dev/null |
		jq -r '.rules[] | select(.result == "fail") | .name'
}
is=$(fails_with 0)
[ -z "$is" ] || fail "with $key=0 these fail: $is"
is=$(fails_with 1)
[ "$is" = "$rule" ] || fail "with $key=1 these fail: '$is', not '$rule'"
