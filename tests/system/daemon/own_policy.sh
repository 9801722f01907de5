#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a policy written with libkfdsched (examples/own_policy.c) takes effect: two processes
# take turns, and both run when it is killed.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world
# Requests are short, because on SIGINT kfdreplay cuts off what takes more than a second.
offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv

states_are() {
	says "[.processes[]|{key: \"\(.pid)\", value: .state}]|from_entries|
		.[\"$first\"] == \"$1\" and .[\"$offline\"] == \"$2\""
}

start_daemon
start_offline --seconds 600
first=$offline
start_offline --seconds 600 --json "$work/second.json"
"$BUILD/tests/system/daemon/own_policy" 1 "$first" "$offline" 2>>"$work/log" &
policy=$!
children+=("$policy")
for _ in 1 2; do
	until_true 100 states_are running suspended || fail "not the first one's turn"
	until_true 100 states_are suspended running || fail "not the second one's turn"
done
kill -KILL "$policy"
until_true 100 states_are running running || fail "suspended although the policy has ended"
interrupt "$first"
end_offline
jq -e '.count.submitted > 0 and .count.executed == .count.submitted' "$work/second.json" >/dev/null ||
	fail "workgroups: $(jq -c .count "$work/second.json")"
