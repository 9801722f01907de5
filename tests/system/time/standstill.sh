#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where each thread waits is in the report if time went on by more than 100 s at once, and on
# standard error, too, if the world stands still: nothing in it has a time. A world that waits for
# kfdsim's input does not stand still.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

report=$DIR/report.json
# holds EXPRESSION: of the report's object "virtual".
holds() {
	jq -e ".virtual | $1" "$report" >/dev/null || fail "not $1: $(jq -c .virtual "$report")"
}

# Jumps: each thread is named, with its wait; the report counts all and shows eight.
expect 0 "$KFDSIM" --virtual --set host_wake_us=0 --report "$report" -- sh -c 'sleep 3000 & sleep 7000; true'
same "$(cat "$DIR/err")" ""
holds '.long_jumps == 2 and .standstill == null'
holds '[.jumps[] | [.from_s, .to_s]] == [[0, 3000], [3000, 7000]]'
holds '[.jumps[0].threads[] | [.command, .call, .until_s]] |
	sort == [["sh", "wait4", null], ["sleep", "futex", 3000], ["sleep", "futex", 7000]]'
holds 'any(.jumps[0].threads[]; .pid == 2 and .tid == 2 and (.place | length > 0))'
expect 0 "$KFDSIM" --virtual --set host_wake_us=0 --report "$report" -- \
	sh -c 'sleep 99; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 101; done'
holds '.long_jumps == 10 and (.jumps | length == 8)'

# A reader of a pipe that has no writer but itself, and a shell that waits for it: a deadlock.
mkfifo "$DIR/in" "$DIR/inner"
trap 'kill $waits $pid 2>/dev/null || :; rm -rf "$DIR"' EXIT
"$KFDSIM" --virtual -- cat <"$DIR/in" 2>"$DIR/waits" &
waits=$! pid=
exec 5>"$DIR/in"
"$KFDSIM" --virtual --report "$report" -- bash -c 'cat <>"$1" & sleep 5; wait' - "$DIR/inner" \
	2>"$DIR/err" &
pid=$!
wait_for 60 grep -q '  bash (process 2, thread 2): wait4, ' "$DIR/err"
wait_for 10 grep -q '  cat (process 3, thread 3): read, ' "$DIR/err"
grep -q '^kfdsim: the world stands still: none of its 2 threads can run' "$DIR/err" ||
	fail "$(cat "$DIR/err")"
sleep 1
kill -TERM $pid
wait $pid || status=$?
same "$status" 143
same "$(wc -l <"$DIR/err")" 3 # once
holds '[.standstill[] | .command, .call] | sort == ["bash", "cat", "read", "wait4"]'
exec 5>&-
wait $waits || fail "cat: $?"
same "$(cat "$DIR/waits")" ""
