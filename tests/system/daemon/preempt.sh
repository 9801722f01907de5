#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: `kfdsched preempt` takes a process without a priority off the GPU and gives it back, as
# often and as long as requested, and prints the time of each step. However the command ends (done,
# Ctrl-C, killed, stopped), the process runs on. If it cannot preempt the process, because another
# debugger traces it or has a session on it, it changes nothing and gives the reason. If the process
# is registered with a daemon, it acts through the daemon.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

# ends_by VICTIM SIGNAL TEXT: the parent or the child gets the signal in the middle of a long hold.
ends_by() {
	local preempt victim
	"$kfdsched" preempt "$offline" -n 2 --hold 30s --slow 10s >"$work/out" 2>"$work/err" &
	preempt=$!
	children+=("$preempt")
	until_true 50 grep -q . "/proc/$preempt/task/$preempt/children" || fail "it has no child"
	victim=$preempt
	[ "$1" = child ] && victim=$(tr -d ' ' <"/proc/$preempt/task/$preempt/children")
	"$BUILD/watch_queue" "$offline" "$rptr" 500 10000 "$victim" "$2" >/dev/null ||
		fail "not resumed after signal $2 to its $1"
	until_true 50 has_ended "$preempt" || fail "the command goes on after signal $2 to its $1"
	[ -z "$3" ] || grep -q "$3" "$work/err" || fail "signal $2 to its $1: $(cat "$work/err")"
}

# The process has no priority, so the daemon only lists it, with the address of its queue.
start_daemon
LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$offline_trace" --closed --count \
	--json "$work/offline.json" --seconds 600 >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
until_true 100 says "any(.processes[]; .pid == $offline and (.queues|length) > 0)" || fail "no process"
rptr=$(rptr_of "$offline")
"$kfdsched" preempt "$offline" -n 2 --hold 1ms --pause 1ms --slow 10s --json >"$work/preempt.json" ||
	fail "preempt by the daemon ended with $?"
jq -e '.by_daemon and .succeeded == 2 and .opening_suspend_us == null and .first.suspend_us > 0 and
	.suspend_us.min > 0 and .resume_us.min > 0' \
	"$work/preempt.json" >/dev/null || fail "$(cat "$work/preempt.json")"
says ".processes[]|select(.pid == $offline)|.suspends == 2 and .resumes == 2" || fail "the daemon did not do it"
ends_by parent 9 ''
until_true 50 state_is "$offline" running || fail "the process stays suspended after the end of the command"
kill -TERM "$daemon"
until_true 50 has_ended "$daemon" || fail "the daemon does not end"

"$kfdsched" preempt "$offline" -n 3 --hold 20ms --pause 20ms --slow 10s --json >"$work/preempt.json" ||
	fail "preempt ended with $?"
schema preempt "$work/preempt.json"
jq -e ".pid == $offline and .simulated and (.by_daemon|not) and .asked == 3 and .tried == 3 and .succeeded == 3 and
	.problem == null and .opening_suspend_us > 0 and .hold_us == 20000 and
	([.suspend_us, .resume_us][]|0 < .min and .min <= .median and .min <= .mean and .mean <= .max and
	.median <= .p90 and .p90 <= .p99 and .p99 <= .max)" "$work/preempt.json" >/dev/null || fail "$(cat "$work/preempt.json")"
"$kfdsched" preempt "$offline" -n 2 --hold 1ms --pause 1ms --slow 10s >"$work/out" || fail "preempt ended with $?"
grep -q "2/2 successes (100 %), by a debug session of kfdsched, on a simulated GPU" "$work/out" || fail "$(cat "$work/out")"

ends_by parent 2 'after 1 of 2: interrupted' # SIGINT
grep -q '1/1 successes (100 %), 1 of 2 rounds not run' "$work/out" || fail "what was measured is lost: $(cat "$work/out")"
ends_by child 9 'the child that holds the process was killed: the driver has resumed the process'
ends_by child 19 'the child that holds the process was stopped, and was ended for that: the driver has resumed the process' # SIGSTOP
ends_by parent 9 '' # SIGKILL

expect 1 "$kfdsched" preempt "$offline" -n 5 --slow 1us --pause 1ms --hold 1ms
one_line 'a suspend took [0-9]* us, longer than --slow'
grep -q '1/1 successes (100 %), 4 of 5 rounds not run' "$work/out" || fail "the command goes on after a slow suspend"
refused 1 "does not use /dev/kfd" "$kfdsched" preempt $$
refused 1 'there is no such process' "$kfdsched" preempt 4000000
strace -o "$work/strace" -e trace=none -p "$offline" 2>>"$work/log" &
debugger=$!
children+=("$debugger")
until_true 50 grep -q "^TracerPid:[^0]*$debugger" "/proc/$offline/status" || fail "strace does not trace it"
refused 77 "process $offline is traced by thread $debugger already (a debugger, strace?)" "$kfdsched" preempt "$offline"
kill -KILL "$debugger"
for how in traced untraced; do
	rm -f "$work/foreign"
	"$BUILD/foreign" $how '' "$BUILD/kfdreplay" --trace "$offline_trace" --closed --seconds 600 \
		>"$work/foreign" 2>>"$work/log" &
	debugger=$!
	children+=("$debugger")
	until_true 50 test -s "$work/foreign" || fail "no debugger"
	debugged=$(grep -o '^[0-9]*' "$work/foreign" | head -n 1)
	children+=("$debugged")
	[ $how = traced ] && words="is traced by thread $debugger" || words="has a debug session already"
	refused 77 "process $debugged $words" "$kfdsched" preempt "$debugged"
	kill -KILL "$debugged"
done
"$BUILD/kfdreplay" --trace "$offline_trace" --closed --seconds 600 >/dev/null 2>>"$work/log" &
old=$!
children+=("$old")
until_true 50 test -d "/sys/class/kfd/kfd/proc/$old/queues/0" || fail "no queue without the shim"
# ROCr 5.2.3 never enables its runtime; newer ones can be preempted without the shim.
if ! "$kfdsched" preempt "$old" -n 1 --slow 10s >"$work/out" 2>"$work/err"; then
	grep -q 'its runtime is in state 0 (not enabled)' "$work/err" || fail "$(cat "$work/err")"
fi
[ "$(proc_status "$old" TracerPid)" -eq 0 ] || fail "the process is still traced"
kill -KILL "$old"

end_offline
