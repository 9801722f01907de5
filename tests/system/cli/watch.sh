#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched watch lists the processes that use a GPU already and does not wait for them. It
# reports a new one with its pids on the host and in its container and monitors it to its end; it
# selects by container, pattern or pid, or takes all. If no process comes in time, or on SIGTERM, it
# says so.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world
# shellcheck source=tests/lib/container.inc.sh
. "$SOURCE/tests/lib/container.inc.sh"

id=3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef

# watch ARGUMENT...: runs in the background, as $watching, with output in $work/out and $work/err.
watch() {
	# Without the output of the last one.
	: >"$work/out"
	: >"$work/err"
	"$kfdsched" watch --interval 200ms "$@" >"$work/out" 2>"$work/err" &
	watching=$!
	children+=("$!")
	until_true 300 has_begun || fail "watch does not begin: $(cat "$work/err")"
}
has_begun() {
	grep -q "waiting for" "$work/err" || ! kill -0 "$watching" 2>/dev/null
}
# ends CODE: the watch in the background ends with CODE.
ends() {
	local got=0
	wait "$watching" || got=$?
	[ "$got" = "$1" ] || fail "watch ended with $got, not $1: $(cat "$work/out" "$work/err")"
}
prints() {
	until_true 300 grep -q -- "$1" "$work/out" || fail "watch does not print '$1': $(cat "$work/out" "$work/err")"
}
# start_replay ARGUMENT...: starts a workload, as $!.
start_replay() {
	"$BUILD/kfdreplay" --trace "$SOURCE/traces/online_resnet50_b1.csv" --rate 5 "$@" >/dev/null 2>&1 &
	children+=("$!")
}
has_queue() {
	"$kfdsched" monitor "$1" --seconds 1ms 2>/dev/null | grep -q '1: [1-9][0-9]* queue'
}

start_replay --seconds 900
old=$!
until_true 300 has_queue "$old" || fail "no queue"

# No new process comes.
watch --timeout 0.3
ends 1
said "process $old (kfdreplay) already uses a GPU"
said "no new GPU process within"
[ "$(wc -l <"$work/err") $(wc -c <"$work/out")" = "3 0" ] || fail "more than three lines: $(cat "$work/out" "$work/err")"

# One process in a container is reported, and others are not.
watch --container "${id:0:12}" --timeout 120
start_replay --seconds 900
other=$!
run_container docker "/docker/$id" "$work/containers/$id/hostname" /etc/hostname
inner=$(awk '/^NSpid:/ {print $3}' "/proc/$workload/status")
prints "queues (ids 0-"
grep -q "^new GPU process: host pid $workload, container pid $inner, container docker ${id:0:12}, $BUILD/kfdreplay" \
	"$work/out" || fail "the new process is not reported"
kill -KILL "$workload"
ends 0
grep -q "process $workload (kfdreplay): .*; then the process ended" "$work/out" || fail "its end is not reported"
[ "$(grep -c '^new GPU process' "$work/out")" = 1 ] || fail "other processes are reported, too: $(cat "$work/out")"

# By pid, also of a process that uses a GPU already; on SIGTERM it prints what it has.
watch --pid "$other"
prints "queues (ids 0-"
kill -TERM "$watching"
ends 0
printed "process $other (kfdreplay): "
grep -q already "$work/err" && fail "--pid lists the processes that use a GPU already: $(cat "$work/err")"

# All processes with a word in their command are reported, each in a line that keeps to the schema.
watch --all --name 'seconds [23]' --seconds 0.4 --json --timeout 120
start_replay --seconds 77
unmeant=$!
start_replay --seconds 22
two=$!
start_replay --seconds 33
three=$!
both_done() {
	[ "$(jq -s '[.[] | select(has("verdict"))] | length' "$work/out")" = 2 ]
}
until_true 300 both_done || fail "not both processes: $(cat "$work/out" "$work/err")"
kill -TERM "$watching"
ends 0
jq -se "[.[] | select(.kind == \"found\") | .pid] | sort == [$two, $three]" "$work/out" >/dev/null ||
	fail "the wrong processes: $(cat "$work/out")"
schema watch "$work/out" --lines

# On SIGTERM no process has come (all that were started are there). One process ends without a GPU.
# A pid does not exist.
until_true 300 has_queue "$unmeant" || fail "no queue"
watch
kill -TERM "$watching"
ends 1
grep -q "no new GPU process within [0-9.]* s$" "$work/err" || fail "watch does not say that no process came"
sleep 600 &
gone=$!
children+=("$gone")
watch --pid "$gone"
kill -KILL "$gone"
wait "$gone" || true
ends 1
grep -q "process $gone (.*) has ended without using a GPU" "$work/err" || fail "watch does not say that the process ended"
watch --pid "$gone"
ends 1
said "there is no process $gone"
for wrong in "--pid x" "--timeout 0" "--interval 1us" "--name=" "--container=" "more"; do
	# shellcheck disable=SC2086 # two words
	watch $wrong
	ends 2
done
