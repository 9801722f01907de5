#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched status PID --dump prints the whole client shared memory of one workload
# (queues, nodes, runtime, session, hold command, the last events in their order), as text
# and as JSON, with the reason if a queue cannot be suspended. For a pid that is not registered,
# without a pid and without a daemon it prints a clear error.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

refused 1 "no daemon listens" "$kfdsched" status $$ --dump
refused 2 "needs the PID" "$kfdsched" status --dump
refused 2 "is not a valid process id" "$kfdsched" status --dump 12x
refused 2 "unexpected argument" "$kfdsched" status 12 13

start_daemon
refused 1 "process $$ is not registered" "$kfdsched" status $$ --dump

mkfifo "$work/orders"
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline KFDSHIM_GROUP=ranks \
	"$BUILD/shim_workload" <"$work/orders" >"$work/answers" 2>>"$work/log" &
workload=$!
children+=("$workload")
exec 7>"$work/orders"
printf 'queue\n' >&7
until_true 50 says ".processes[]|select(.pid == $workload)|.queues|length == 2" || fail "no queues"
printf 'block\n' >&7

dump() {
	"$kfdsched" status "$workload" --dump --json >"$work/dump"
}
# dump_is EXPRESSION: the expression is true of the dump.
dump_is() {
	holds "$work/dump" "$1"
}
dump_says() {
	dump && jq -e "$1" "$work/dump" >/dev/null
}
# The node becomes active a moment before its queue.
until_true 50 dump_says '.client_shm.nodes[0].active and any(.client_shm.queues[]; .state == "active")' ||
	fail "no work is shown: $(cat "$work/dump")"
dump # again, because the last dump may show a change half done
dump_is ".process.pid == $workload and .process.group == \"ranks\" and .process.priority == 2"
dump_is '.client_shm.runtime == "enabled" and .client_shm.own_session == false and .client_shm.suspended == false'
dump_is '.client_shm.hold_cmd == null and .client_shm.unreadable_queues == 0'
dump_is '(.client_shm.nodes | length == 1) and .client_shm.nodes[0].active_age_us >= 0'
dump_is '.client_shm.queues | length == 2 and all(.[]; .type == "aql" and .context == 0 and .percent == 100)'
dump_is '.client_shm.queues | all(.[]; .cwsr_bytes > 0 and (.wptr_address | startswith("0x")))'
# The queue that works is the one whose doorbell was seen; ROCr reports its address.
user=$(head -n 1 "$work/answers")
dump_is ".client_shm.queues[] | select(.hsa_queue == \"$user\") | .state == \"active\" and .hooked"
dump_is '.client_shm.events | length > 0 and ([.[].number] | . == sort) and ([.[].age_us] | . == (sort | reverse))'
dump_is '(.client_shm.events | last | .number) == .client_shm.events_number'

"$kfdsched" status "$workload" --dump >"$work/text"
grep -q "^process $workload (shim_workload): priority 2, offline, group ranks" "$work/text" || fail "$(cat "$work/text")"
grep -q "$user" "$work/text" || fail "the queue is not in the text: $(cat "$work/text")"

# Each change of the queue table has an event of its own.
printf 'finish\ndestroy\n' >&7
until_true 50 dump_says '(.client_shm.queues | length == 1) and any(.client_shm.events[]; .kind == "destroyed")' ||
	fail "the queue has not gone: $(cat "$work/dump")"
dump_is '[.client_shm.events[] | select(.kind == "destroyed")] | length == 1 and .[0].gpu_id > 0'
exec 7>&-
wait "$workload" || fail "the workload ended with $?"
until_true 50 says ".processes | all(.pid != $workload)" || fail "it is still registered"
refused 1 "process $workload is not registered" "$kfdsched" status "$workload" --dump

# Queues that no suspension stops are marked, and invalid entries are counted.
# Types: 0 PM4, 1 SDMA, 64 DRM; 9 does not exist.
mkfifo "$work/lane"
"$BUILD/lane_client" "$KFDSHIM_SOCKET" 2 "$(gpu_id)" <"$work/lane" >/dev/null 2>>"$work/log" &
workload=$!
children+=("$workload")
exec 7>"$work/lane"
printf 'queue 0 0\nqueue 1 1\nqueue 2 64\nqueue 3 9\n' >&7
until_true 50 dump_says '.client_shm.unreadable_queues == 1' || fail "not counted: $(cat "$work/dump")"
dump # again, because a dump has the part of the process before its client shared memory
for list in .client_shm.queues .process.queues; do
	dump_is "$list | length == 3 and .[0].not_suspendable == null"
	dump_is "${list}[1] | .type == \"sdma\" and (.not_suspendable | test(\"compute\"))"
	dump_is "${list}[2] | .type == \"drm\" and (.not_suspendable | test(\"DRM user queue\"))"
done
"$kfdsched" status "$workload" --dump >"$work/text"
grep -q "drm .*it is a DRM user queue" "$work/text" || fail "$(cat "$work/text")"
grep -q "^1 more cannot be read" "$work/text" || fail "$(cat "$work/text")"
exec 7>&-
wait "$workload" || fail "lane_client ended with $?"
