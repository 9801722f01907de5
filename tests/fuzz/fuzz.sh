#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz.sh PROGRAM [SEED [SECONDS [OPTION...]]]: bad input (fuzz.h) in a world of its own. The
# program and kfdsim end well, and what the report says of all packets adds up.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
program=$1 seed=${2:-1} seconds=${3:-3}
shift $(($# < 3 ? $# : 3))

status=0
timeout -k 5 $((seconds + 60)) "$BUILD/kfdsim" "$@" --report "$work/r.json" -- \
	"$BUILD/fuzz_$program" "$seed" "$seconds" >"$work/out" 2>"$work/err" </dev/null || status=$?
[ "$status" = 0 ] || fail "seed $seed: ended with $status; the end of what it said:
$(cat "$work/out")
$(grep -v 'pid [0-9]*.*: queue' "$work/err" | tail -n 60)"
cat "$work/out"
grep -A 30 'AddressSanitizer\|LeakSanitizer\|/sim/.*runtime error' "$work/err" && fail "seed $seed: that"
jq -e '[.processes[].queues[]] | length > 4 and all(.submitted == .packets + .discarded)' \
	"$work/r.json" >/dev/null ||
	fail "seed $seed: the packets do not add up: $(jq -c '.processes[].queues[] |
		select(.submitted != .packets + .discarded)' "$work/r.json")"
