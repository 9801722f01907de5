#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if something stops a queue of the GPU, standard error and the report have the reason: an
# unknown packet of each kind, a memory fault, and the eviction that follows it.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# stopped PATTERN COMMAND...: a queue stops for that reason, which both outputs have.
stopped() {
	local why=$1
	shift
	"$BUILD/kfdsim" --virtual --set unknown_kernel_us=2000 --report "$work/r.json" -- "$@" \
		>"$work/out" 2>"$work/err" || true
	grep -q "kfdsim: pid [0-9]* (.*): queue [0-9]* stops: $why" "$work/err" ||
		fail "$*: '$why' is not on standard error: $(cat "$work/err")"
	jq -e --arg why "$why" 'any(.processes[].queues[].stopped; . != null and test($why))' "$work/r.json" \
		>/dev/null || fail "$*: '$why' is not in the report"
}

stopped 'a packet of an unknown type .AQL packet 1, header 0x' "$BUILD/rule_packets"
stopped 'unknown or malformed PM4 packet 0x.* dword ' "$BUILD/rule_pm4"
stopped 'unknown or malformed SDMA packet ' "$BUILD/rule_sdma"
stopped 'memory fault of the simulated GPU [0-9]* at address 0x200' \
	"$BUILD/kfdconform" --here memory_fault_evicts_the_process
holds "$work/r.json" '[.processes[].queues[].stopped] | .[1] == "evicted after a memory fault"'
grep -q 'the driver has evicted its queues from GPU [0-9]* permanently' "$work/err" || fail "no line of the eviction"
# A queue that works is not reported.
expect 0 "$BUILD/kfdsim" --report "$work/r.json" -- "$BUILD/kfdconform" --here suspended_queue_stands_still
holds "$work/r.json" 'all(.processes[].queues[]; .stopped == null)'
! grep -q stops "$work/err" || fail "a queue stopped: $(cat "$work/err")"
