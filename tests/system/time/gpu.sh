#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the GPU's runtimes work in virtual time: rocminfo finds the GPU, and kfdreplay has the same
# result, byte for byte, each time.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

expect 0 "$BUILD/kfdsim" --virtual -- rocminfo
grep -q 'Name: *gfx90a' "$work/out" || fail "rocminfo shows no GPU: $(cat "$work/out")"

turns=()
# replay NAME [kfdreplay option]...: plays a trace; the result is in $work/NAME.json.
replay() {
	local name=$1
	shift
	expect 0 "$BUILD/kfdsim" --virtual "${turns[@]}" --report "$work/$name.report" -- \
		"$BUILD/kfdreplay" --json "$work/$name.json" "$@"
	[ -s "$work/$name.json" ] || fail "$name: no result"
}

twice() {
	local name=$1
	shift
	replay "$name.1" "$@"
	replay "$name.2" "$@"
	cmp "$work/$name.1.json" "$work/$name.2.json" || {
		diff "$work/$name.1.json" "$work/$name.2.json" >&2 || :
		fail "$name: two results (forced: $(jq -c .virtual.forced_by "$work/$name.1.report" \
			"$work/$name.2.report"))"
	}
}

resnet=$SOURCE/traces/online_resnet50_b1.csv
twice closed --trace "$resnet" --requests 20
twice hip --api hip --trace "$resnet" --requests 5
# If two threads have work at one instant, the seed decides.
turns=(--seed 1)
twice open --trace "$resnet" --load 0.5 --seconds 0.3
