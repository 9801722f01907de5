#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if the packet processor has stopped a queue, kfdsched queues and diagnose show the exception
# that the driver has reported to the runtime, none for a queue without one, and "-" if the user may
# not read the process. The daemon's session has the exceptions that occur during it, and no others.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# answers WORD: the program replies with WORD.
answers() {
	read -r -t 30 -u "$from_it" answer || fail "the program does not reply"
	[ "$answer" = "$1" ] || fail "the program says $answer"
}
# order WORD...: the program executes the command.
order() {
	echo "$*" >&"$to_it"
	answers "done"
}
# faults JQ-EXPRESSION: the expression is true of its queues.
faults() {
	"$kfdsched" queues "$pid" --json >"$work/q.json" 2>/dev/null && jq -e "$1" "$work/q.json" >/dev/null
}
becomes() {
	until_true 100 faults "$1" || fail "not so: $1: $(jq -c '[.queues[] | [.id, .exceptions, .sources]]' "$work/q.json")"
	schema queues "$work/q.json"
}

mkfifo "$work/orders" "$work/answers"
"$BUILD/faulty_queue" <"$work/orders" >"$work/answers" 2>>"$work/log" &
pid=$!
children+=("$pid")
exec {to_it}>"$work/orders" {from_it}<"$work/answers"
answers ready

becomes '(.queues | length) == 1 and (.queues[0] | .exceptions == [] and .sources.exceptions == "memory")'
expect 0 "$kfdsched" queues "$pid"
grep -q ' none ' "$work/out" || fail "a queue without an exception: $(cat "$work/out")"
expect 0 "$kfdsched" diagnose "$pid"
grep -Eq '^ +exceptions +none$' "$work/out" || fail "diagnose: $(cat "$work/out")"

order bad 0
becomes '.queues[0].exceptions == ["packet_dispatch_dim_invalid"]'
gpu=$(jq '.queues[0].gpu_id' "$work/q.json")
expect 0 "$kfdsched" queues "$pid"
printed packet_dispatch_dim_invalid
expect 0 "$kfdsched" diagnose "$pid"
printed "queue 0 on GPU 0: packet_dispatch_dim_invalid, source: memory"
expect 0 "$kfdsched" diagnose "$pid" --json
schema diagnose "$work/out"
holds "$work/out" ".processes[0].gpu.exceptions == [{context: 0, queue_id: 0, gpu_id: $gpu,
	names: [\"packet_dispatch_dim_invalid\"], source: \"memory\"}]"

# Another user runs the command.
as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
expect 0 "${as[@]}" "$kfdsched" queues "$pid" --json
holds "$work/out" 'all(.queues[]; .exceptions == null)'
expect 0 "${as[@]}" "$kfdsched" diagnose "$pid"
grep -Eq '^ +exceptions +-$' "$work/out" || fail "diagnose: $(cat "$work/out")"

# The daemon's session has no exceptions from before its beginning.
start_daemon
"$kfdsched" set "$pid" 3 >/dev/null
has_session() {
	says "any(.processes[]; .pid == $pid and .level == \"trap\")"
}
until_true 300 has_session || fail "no session: $(status | jq -c .processes)"
says "any(.processes[]; .pid == $pid and .exceptions == [])" || fail "not none: $(status | jq -c .processes)"
order queue
order bad 1
order queue # a new queue makes the daemon take a snapshot
has_fault() {
	says "any(.processes[]; .pid == $pid and .exceptions == [{queue_id: 1, names: [\"packet_dispatch_dim_invalid\"]}])"
}
until_true 100 has_fault || fail "the daemon has no exception: $(status | jq -c .processes)"
status >"$work/status.json"
schema status "$work/status.json"
# If several queues are alike, debugfs does not show which save area belongs to which queue.
becomes '[.queues[] | [.id, .exceptions, .sources.exceptions]] ==
	[[0, null, null], [1, ["packet_dispatch_dim_invalid"], "daemon"], [2, null, null]]'
