#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: if no daemon has the process, kfdsched suspend holds it itself, as a whole or some of its
# queues, in the foreground, until Ctrl-C, its own end or that of the process; resume names the
# command that holds it. A refusal of the driver is a sentence. If a daemon has the process, some
# queues cannot be suspended. The JSON of the control requests keeps to its schemas.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world
light_trace=$SOURCE/traces/offline_gemm4000_f32.csv # little for the host to simulate

# keeps COMMAND ARGUMENT...: the JSON output is in $work/json, and check_schemas checks it later.
keeps() {
	"$kfdsched" "$@" --json >"$work/json" || fail "$* failed"
	jq -c . "$work/json" >>"$work/$1.lines"
}
check_schemas() {
	for verb in suspend resume set policy; do
		schema $verb "$work/$verb.lines" --lines
	done
}
# hold ARGUMENT...: suspends in the background, as $holder.
hold() {
	: >"$work/said"
	"$kfdsched" suspend "$offline" "$@" >"$work/said" 2>"$work/err" &
	holder=$!
	children+=("$holder")
	until_true 100 grep -q suspended "$work/said" || fail "not suspended: $(cat "$work/err")"
}
# resumes SIGNAL CODE: the training is suspended until the holder gets the signal, a number.
resumes() {
	local code=0
	"$BUILD/watch_queue" "$offline" "$rptr" 500 10000 "$holder" "$1" >/dev/null || fail "signal $1 does not resume it"
	wait "$holder" || code=$?
	[ "$code" -eq "$2" ] || fail "signal $1: exit code $code"
}

start_daemon
LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$light_trace" --rate 10 --count \
	--json "$work/offline.json" --seconds 600 >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
until_true 100 says "any(.processes[]; .pid == $offline and (.queues|length) > 1)" || fail "no process"
rptr=$(rptr_of "$offline")
working=$(status | jq "[.processes[].queues[]|select(.type == \"aql\")]|max_by(.ring_bytes).id")
idle=$(status | jq "[.processes[].queues[]|select(.type == \"aql\" and .id != $working)][0].id")

refused 77 "is registered with kfdschedd, which suspends whole processes" "$kfdsched" suspend "$offline" --queues "$working"
keeps suspend "$offline" --for 1
jq -e '.by_daemon and .seconds == 1 and .queues == null' "$work/json" >/dev/null || fail "$(cat "$work/json")"
keeps resume "$offline"
keeps set "$offline" offline
keeps set "$offline" own
keeps policy "$(gpu_id)" share share=20%
jq -e ".gpu_id == $(gpu_id) and .share_percent == 20" "$work/json" >/dev/null || fail "$(cat "$work/json")"
keeps policy observe
keeps policy
jq -e ".nodes[0].share_percent == 20 and .default.policy == \"observe\"" "$work/json" >/dev/null || fail "$(cat "$work/json")"
kill -TERM "$daemon"
until_true 50 has_ended "$daemon" || fail "the daemon has not ended"

refused 1 "no 'kfdsched suspend' in this pid namespace holds process $offline" "$kfdsched" resume "$offline"
hold
refused 1 "process $offline is held by 'kfdsched suspend' in the foreground (process $holder)" "$kfdsched" resume "$offline"
refused 77 "process $offline " "$kfdsched" suspend "$offline"
refused 77 "process $offline " "$kfdsched" preempt "$offline"
resumes 2 0
hold --json
jq -e ".queues == [$idle, $working] or .queues == [$working, $idle]" "$work/said" >/dev/null || fail "$(cat "$work/said")"
jq -c . "$work/said" >>"$work/suspend.lines"
check_schemas
resumes 9 137
until_true 50 "$kfdsched" preempt "$offline" -n 1 >"$work/out" 2>&1 || fail "its child has not ended: $(cat "$work/out")"

# Some queues: the idle queue alone stops no work, and the working one stops all of it.
hold --queues "$idle"
grep -q "1 queue of process $offline (kfdreplay) is suspended" "$work/said" || fail "$(cat "$work/said")"
grep -q 'opens a debug session on process' "$work/err" || fail "no warning"
"$BUILD/watch_queue" "$offline" "$rptr" 0 10000 >/dev/null || fail "the training is stopped although its queue is not suspended"
kill -INT "$holder"
wait "$holder" || fail "suspend ended with $?"
hold --queues "0-1,$working"
kill -INT "$holder"
wait "$holder" || fail "suspend ended with $?"
hold --queues "$working"
resumes 15 0
"$kfdsched" suspend "$offline" --queues 0,77 >"$work/out" 2>"$work/err" && fail "a queue that does not exist is suspended"
grep -q "has no compute queue 77" "$work/err" || fail "$(cat "$work/err")"

refused 1 "does not use /dev/kfd" "$kfdsched" suspend $$
python3 -c 'import os, time; child = os.fork(); child or os._exit(0); print(child, flush=True); time.sleep(600)' \
	>"$work/zombie" &
children+=($!)
until_true 100 test -s "$work/zombie" || fail "no child"
until_true 50 grep -q ') Z ' "/proc/$(cat "$work/zombie")/stat" || fail "no zombie"
python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)' &
headless=$!
children+=("$headless")
until_true 50 grep -q ') Z ' "/proc/$headless/stat" || fail "its first thread has not ended"
for verb in suspend preempt; do
	refused 1 "(a zombie: its parent has not collected its exit status)" "$kfdsched" $verb "$(cat "$work/zombie")"
	refused 1 "its first thread, which would be traced, has ended" "$kfdsched" $verb "$headless"
	refused 1 "there is no such process" "$kfdsched" $verb 4194304
done
chmod 755 "$work"
cp "$kfdsched" "$work"
for verb in suspend preempt; do
	code=0
	setpriv --reuid 65534 --regid 65534 --clear-groups "$work/kfdsched" $verb "$offline" >"$work/out" 2>"$work/err" || code=$?
	[ "$code" -eq 77 ] || fail "$verb of another user ended with $code"
	grep -q "/dev/kfd\|CAP_SYS_PTRACE" "$work/err" || fail "$(cat "$work/err")"
done
thread=$(find "/proc/$offline/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vx "$offline" | head -n 1)
for verb in preempt suspend resume; do
	refused 1 "$thread is a thread: use the id of its process" "$kfdsched" $verb "$thread"
done

# Its shim has a session of its own on it, because there is no daemon: the refusal is a sentence.
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" --trace "$light_trace" \
	--rate 10 --seconds 600 >/dev/null 2>>"$work/log" &
own=$!
children+=("$own")
until_true 100 test -d "/sys/class/kfd/kfd/proc/$own/queues/0" || fail "no queue"
refused 77 "start kfdschedd, which takes it over" "$kfdsched" preempt "$own"
kill -KILL "$own"

kill -INT "$offline"
wait "$offline" || true
counts_are_right

# Without the shim: the witness library enables the runtime, as ROCm 6.1.2 does by itself.
LD_PRELOAD=$WITNESS_LIBRARY WITNESS=$work/seen WITNESS_RUNTIME=1 "$BUILD/kfdreplay" --trace "$light_trace" \
	--rate 10 --count --json "$work/offline.json" --seconds 600 >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
until_true 100 "$kfdsched" preempt "$offline" -n 5 --hold 5ms --pause 5ms >"$work/out" 2>"$work/err" ||
	fail "not without the shim: $(cat "$work/err")"
grep -q '5/5 successes' "$work/out" || fail "$(cat "$work/out")"
hold
kill -INT "$holder"
wait "$holder" || fail "suspend ended with $?"
kill -INT "$offline"
wait "$offline" || true
counts_are_right

# The process ends in the middle of a hold.
LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$light_trace" --rate 10 --seconds 600 \
	>/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
until_true 100 test -d "/sys/class/kfd/kfd/proc/$offline/queues/0" || fail "no queue"
hold
"$kfdsched" preempt "$offline" -n 3 >/dev/null 2>&1 && fail "two at once"
kill -KILL "$offline"
wait "$holder" && fail "a process that has ended is still held"
grep -q "process $offline: the process has ended" "$work/err" || fail "$(cat "$work/err")"
