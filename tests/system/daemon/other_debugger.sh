#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: if another debugger has a process first, the process is held at the next lower level, and
# the status gives the reason; when the debugger has gone, the daemon tries trap again, with
# success. If strace traces the process, the level is self, because a session on itself needs no
# tracer; if another process has a debug session on it, the level is gate. KFDSHIM_LEVEL=trap is
# never lowered. `kfdsched preempt` acts through the daemon and does not disturb the debugger. When
# all processes of kfdshim are killed, every queue runs.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# preempted LEVEL: the daemon preempts the process for kfdsched, at that level.
preempted() {
	"$kfdsched" preempt "$offline" -n 1 --hold 1ms --slow 10s >"$work/out" 2>"$work/err" ||
		fail "preempt: $(cat "$work/err")"
	grep -q '1/1 successes (100 %), by the daemon' "$work/out" || fail "$(cat "$work/out")"
	says ".processes[]|select(.pid == $offline)|.level == \"$1\"" || fail "preempt has changed its level"
}
# it_goes_on: the process is held, runs on when the daemon is killed, and loses nothing.
it_goes_on() {
	local rptr
	send on
	until_true 50 state_is "$offline" suspended || fail "not held: $(status | jq -c .processes)"
	rptr=$(rptr_of "$offline")
	"$BUILD/watch_queue" "$offline" "$rptr" 500 15000 "$daemon" 9 >/dev/null ||
		fail "the process does not run without the daemon"
	has_ended "$online" || kill -KILL "$online"
	rm -f "$work/words" "$work/answers"
}
replay=("$BUILD/kfdreplay" --trace "$offline_trace" --closed --seconds 600)
traced_by=' is traced by thread [0-9]+ already \\(a debugger, strace'

start_daemon
start_online

# strace traces the program from its first instruction on.
strace -o "$work/strace" -e trace=none env "LD_PRELOAD=$BUILD/libkfdshim.so" \
	KFDSHIM_PRIORITY=offline "${replay[@]}" >/dev/null 2>>"$work/log" &
debugger=$!
children+=("$debugger")
until_true 100 says '.processes|length == 2' || fail "no process under strace"
offline=$(status | jq '.processes[]|select(.priority == 2).pid')
children+=("$offline")
comes_to_level self "$traced_by"
[ "$(proc_status "$offline" TracerPid)" -eq "$debugger" ] || fail "strace does not trace it any more"
preempted self
suspend_and_resume "$offline"
it_goes_on
start_daemon
start_online
comes_to_level self "$traced_by"
kill -KILL "$debugger"
comes_to_level trap '^$'
suspend_and_resume "$offline"
preempted trap
kill -KILL "$offline"

# KFDSHIM_LEVEL=trap is never lowered to another level.
KFDSHIM_LEVEL=trap LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline \
	strace -D -o "$work/strace" -e trace=none "${replay[@]}" >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
comes_to_level observe "$traced_by.*KFDSHIM_LEVEL=trap: no other level is tried"
says ".processes[]|select(.pid == $offline)|.reason_code == \"traced\"" || fail "the reason's code is not that of the cause"
send on
sleep 0.3
state_is "$offline" running || fail "held, against its KFDSHIM_LEVEL"
send off
debugger=$(proc_status "$offline" TracerPid)
kill -KILL "$debugger"
comes_to_level trap '^$'
kill -KILL "$offline"

# Another process has a debug session on it, and traces it or not.
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
		comes_to_level gate "$traced_by.*; it cannot open one itself: Operation already in progress"
	else
		comes_to_level gate "has a debug session already.*; it cannot open one itself: Operation already"
	fi
	suspend_and_resume "$offline"
	preempted gate
	has_ended "$debugger" && fail "the debugger has gone"
	if [ $how = untraced ]; then
		it_goes_on # and with it the session of the other debugger
	else
		kill -KILL "$debugger"
		comes_to_level trap '^$'
	fi
	kill -KILL "$offline"
done
