#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if time jumps by more than 100 s, the report says where each thread waits; if the simulation
# stands still, because no wait in it has a time, standard error says so, too. A simulation that waits
# for kfdsim's input does not stand still.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"

# Jumps: each thread is named, with its wait; the report counts all and lists eight.
expect 0 "$BUILD/kfdsim" --virtual --set host_wake_us=0 --report "$report" -- sh -c 'sleep 3000 & sleep 7000; true'
same "$(cat "$work/err")" ""
virtual_time '.long_jumps == 2 and .standstill == null'
virtual_time '[.jumps[] | [.from_s, .to_s]] == [[0, 3000], [3000, 7000]]'
virtual_time '[.jumps[0].threads[] | [.command, .call, .until_s]] |
	sort == [["sh", "wait4", null], ["sleep", "futex", 3000], ["sleep", "futex", 7000]]'
virtual_time 'any(.jumps[0].threads[]; .pid == 2 and .tid == 2 and (.place | length > 0))'
expect 0 "$BUILD/kfdsim" --virtual --set host_wake_us=0 --report "$report" -- \
	sh -c 'sleep 99; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 101; done'
virtual_time '.long_jumps == 10 and (.jumps | length == 8)'

# A deadlock: a reader of a pipe that has no other writer, and a shell that waits for it.
mkfifo "$work/in" "$work/inner"
"$BUILD/kfdsim" --virtual -- cat <"$work/in" 2>"$work/waits" &
waits=$!
children+=("$waits")
exec 5>"$work/in"
"$BUILD/kfdsim" --virtual --report "$report" -- bash -c 'cat <>"$1" & sleep 5; wait' - "$work/inner" \
	2>"$work/err" &
pid=$!
children+=("$pid")
soon grep -q '  bash (process 2, thread 2): wait4, ' "$work/err"
soon grep -q '  cat (process 3, thread 3): read, ' "$work/err"
grep -q '^kfdsim: the simulation is blocked: none of its 2 threads can run' "$work/err" ||
	fail "$(cat "$work/err")"
sleep 1
kill -TERM $pid
wait $pid || status=$?
same "$status" 143
same "$(wc -l <"$work/err")" 3 # each line once
virtual_time '[.standstill[] | .command, .call] | sort == ["bash", "cat", "read", "wait4"]'
exec 5>&-
wait $waits || fail "cat: $?"
same "$(cat "$work/waits")" ""
