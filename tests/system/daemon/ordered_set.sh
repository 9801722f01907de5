#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a priority that an operator has set applies until it is taken back, whatever the process
# sets itself, and survives a worker. Policies change while work runs, for one node and for all
# others. `events` prints all of it in order, with the user who requested it and the cause.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

order() {
	"$kfdsched" "$@" >"$work/out" 2>&1 || fail "kfdsched $*: $(cat "$work/out")"
}
# has FILTER: the log of events has such an event; $event is the last one.
has() {
	event=$(jq -c "select($1)" "$work/events" | tail -n 1)
	[ -n "$event" ]
}
event_is() {
	until_true 50 has "$1" || fail "no event: $1: $(tail -n 5 "$work/events")"
}
# stays TEXT: the process is not suspended in the next iterations of the daemon's loop.
stays() {
	local suspends
	suspends=$(status | jq .totals.suspends)
	sleep 0.3
	says ".totals.suspends == $suspends" || fail "suspended: $1"
}

start_daemon
"$kfdsched" events --follow --json >"$work/events" 2>>"$work/log" &
children+=($!)
event_is '.kind == "listening"'
start_offline --seconds 600
gpu=$(gpu_id)
event_is ".kind == \"came\" and .pid == $offline and .priority == 2"
event_is ".kind == \"level\" and .pid == $offline and .level == \"trap\""
online_priority=9
start_online
suspend_offline
event_is ".kind == \"suspend\" and .pid == $offline"
jq -e ".reason == \"preempted\" and .cause_pid == $online and .cause_gpu_id == $gpu and
	.gpu_ids == [$gpu] and .latency_us > 0 and .duration_us > 0 and .error == null" \
	<<<"$event" >/dev/null || fail "$event"
send off
comes_to running "not resumed"
event_is '.kind == "resume"'
jq -e ".reason == \"idle\" and .cause_pid == $online" <<<"$event" >/dev/null || fail "$event"

# The operator's priority applies, not that of the process, until it is taken back.
send on
comes_to suspended "not suspended"
order set "$online" 1
comes_to running "held for a lower priority"
event_is ".kind == \"priority\" and .pid == $online and .priority == 1 and .by_uid == 0 and .by_pid > 0"
send priority 14
stays "its own word counts"
says ".processes[]|select(.pid == $online)|.priority == 1 and .priority_override" || fail "$(status)"
order set "$online" own --json
jq -es "length == 1 and (.[0]|.request == \"set\" and .pid == $online and .priority == null and
	(.priority_override|not))" "$work/out" >/dev/null || fail "$(cat "$work/out")"
comes_to suspended "its own word does not count again"
says ".processes[]|select(.pid == $online)|.priority == 14 and (.priority_override|not)" ||
	fail "$(status | jq -c .processes)"
order set "$offline" online --json
jq -es "length == 1 and (.[0]|.pid == $offline and .priority == 15 and .priority_override)" \
	"$work/out" >/dev/null || fail "$(cat "$work/out")"
comes_to running "held at the highest priority"
order set "$offline" none
stays "without a priority"
says ".processes[]|select(.pid == $offline)|.role == \"seen\"" || fail "$(status)"
order set "$offline" offline
comes_to suspended "not suspended at another priority"

# The policy of a node applies there, and the policy of all others does not. A second policy of the
# node replaces the first.
order policy observe
comes_to running "held in spite of policy observe"
event_is '.kind == "policy" and .policy == "observe" and .gpu_id == null and .by_uid == 0'
order policy "$gpu" strict
comes_to suspended "not held by the node's own policy"
order policy strict
order policy "$gpu" observe
comes_to running "the node's policy is not replaced"
for percent in $(seq 70); do
	order policy "$gpu" share "share=$percent"
done
"$kfdsched" policy --json | jq -e ".default.policy == \"strict\" and
	.nodes == [{gpu_id: $gpu, policy: \"share\", share_percent: 70}]" >/dev/null ||
	fail "$("$kfdsched" policy --json)"
order policy "$gpu" observe
order policy
grep -qE "^$gpu +observe +-" "$work/out" || fail "$(cat "$work/out")"

# The next worker knows all of it. A client without a shim does not register again.
order set "$offline" 7
before=$(worker)
kill -KILL "$before"
until_true 100 says ".daemon.worker_pid != $before and any(.processes[]; .pid == $offline and
	.priority == 7 and .priority_override)" || fail "the priority is lost: $(status | jq -c .processes)"
says ".nodes[0].policy == \"observe\" and .daemon.policy == \"strict\"" || fail "the policies are lost"
event_is ".kind == \"listening\" and .worker_pid != $before"
order suspend "$offline" --for 60
event_is ".kind == \"suspend\" and .reason == \"leased\" and .cause_pid == null"
order resume "$offline"
comes_to running "not resumed"
event_is '.kind == "resume" and .reason == "released"'
end_offline
event_is ".kind == \"went\" and .pid == $offline"

# The events of each worker are numbered without a gap, and their times do not decrease.
jq -es 'def rising: . == sort; (map(.time_us)|rising) and
	(reduce .[] as $e ({ok: true, n: null};
		{ok: (.ok and (.n == null or $e.kind == "listening" or $e.number == .n + 1)), n: $e.number})|.ok)' \
	"$work/events" >/dev/null || fail "numbers: $(jq -c '[.number, .kind]' "$work/events")"
