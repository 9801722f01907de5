#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: where somebody else debugs a process first, it is held by the next level down,
# and the status says why; when he has gone, trap is tried again, and works. strace
# first: level self, since a session on itself needs no tracer. Somebody's session first:
# gate. KFDSHIM_LEVEL=trap is never anything less. `kfdsched preempt` acts by the daemon,
# and fights nobody. And when all that is ours is killed, every queue moves.
set -eu
# Needs root.
[ "$(id -u)" = 0 ] || exec "$SOURCE/tests/lib/as_root.sh" bash "$0" "$@"
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# become LEVEL REASON: $offline comes to it, and the status says why (a regular expression).
become() {
	until_true 80 says ".processes[]|select(.pid == $offline)|.level == \"$1\" and
		(.reason|test(\"$2\"))" ||
		fail "not at level $1 because '$2': $(status | jq -c '.processes[]|{pid, level, reason}')"
}
# preempted: the daemon does it for kfdsched, by whatever level.
preempted() {
	"$BUILD/kfdsched" preempt "$offline" -n 1 --hold 1ms --slow 10s >"$work/out" 2>"$work/err" ||
		fail "preempt: $(cat "$work/err")"
	grep -q '1/1 successes (100 %), by the daemon' "$work/out" || fail "$(cat "$work/out")"
	says ".processes[]|select(.pid == $offline)|.level == \"$1\"" || fail "preempt has fought"
}
# it_goes_on: although it is held, and all of ours are killed.
it_goes_on() {
	local rptr
	tell on
	until_true 50 state_is "$offline" suspended || fail "not held: $(status | jq -c .processes)"
	rptr=$(rptr_of "$offline")
	"$BUILD/watch_queue" "$offline" "$rptr" 500 15000 "$daemon" 9 >/dev/null ||
		fail "it stands still without us"
	has_ended "$online" || kill -KILL "$online"
	rm -f "$work/words" "$work/answers"
}
replay=("$BUILD/kfdreplay" --trace "$offline_trace" --closed --seconds 600)
traced_by=' is traced by thread [0-9]+ already \\(a debugger, strace'

start_daemon
start_online

# strace, from the program's first instruction on
strace -o "$work/strace" -e trace=none env "LD_PRELOAD=$BUILD/libkfdshim.so" \
	KFDSHIM_PRIORITY=offline "${replay[@]}" >/dev/null 2>>"$work/log" &
debugger=$!
children+=("$debugger")
until_true 100 says '.processes|length == 2' || fail "no process under strace"
offline=$(status | jq '.processes[]|select(.priority == 2).pid')
children+=("$offline")
become self "$traced_by"
[ "$(awk '/TracerPid/ {print $2}' "/proc/$offline/status")" -eq "$debugger" ] || fail "not strace's any more"
preempted self
suspend_and_resume "$offline"
it_goes_on
start_daemon
start_online
become self "$traced_by"
kill -KILL "$debugger"
become trap '^$'
suspend_and_resume "$offline"
preempted trap
kill -KILL "$offline"

# a level that was asked for is that or none
KFDSHIM_LEVEL=trap LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline \
	strace -D -o "$work/strace" -e trace=none "${replay[@]}" >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
become observe "$traced_by.*KFDSHIM_LEVEL=trap: no other is tried"
tell on
sleep 0.3
state_is "$offline" running || fail "held, against its KFDSHIM_LEVEL"
tell off
debugger=$(awk '/TracerPid/ {print $2}' "/proc/$offline/status")
kill -KILL "$debugger"
become trap '^$'
kill -KILL "$offline"

# a session of somebody else, who traces it or not
for how in traced untraced; do
	rm -f "$work/foreign"
	KFDSHIM_PRIORITY=offline "$BUILD/foreign" $how "$BUILD/libkfdshim.so" "${replay[@]}" >"$work/foreign" 2>>"$work/log" &
	debugger=$!
	children+=("$debugger")
	until_true 50 test -s "$work/foreign" || fail "no debugger"
	offline=$(cat "$work/foreign")
	children+=("$offline")
	until_true 100 says "any(.processes[]; .pid == $offline)" || fail "no process"
	if [ $how = traced ]; then
		become gate "$traced_by.*; and none by itself: Operation already in progress"
	else
		become gate "has a debug session already.*; and none by itself: Operation already"
	fi
	suspend_and_resume "$offline"
	preempted gate
	has_ended "$debugger" && fail "the debugger has gone"
	if [ $how = untraced ]; then
		it_goes_on # and his session with it
	else
		kill -KILL "$debugger"
		become trap '^$'
	fi
	kill -KILL "$offline"
done
