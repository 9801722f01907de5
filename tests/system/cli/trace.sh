#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched trace puts the events of the shim, the daemon and HIP on one timeline, with each
# suspension as a bar, its cause and its reason, in a file that a viewer accepts. On SIGTERM it
# writes what it has. With --pid it has that process alone. Each line of --json keeps to its schema.
# The exit code and the output of a traced command are passed on.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world

# trace ARGUMENT...: starts a trace in the background, as $tracing, and waits until it is connected.
listening() {
	"$kfdsched" events --json | jq -es '[.[]|select(.kind == "listening")]|length' 2>/dev/null
}
listens_more() {
	[ "$(listening)" -gt "$1" ]
}
trace() {
	local before
	before=$(listening)
	"$kfdsched" trace "$@" >"$work/timeline" 2>"$work/talk" &
	tracing=$!
	children+=("$tracing")
	until_true 50 listens_more "$before" || fail "the trace is not connected: $(cat "$work/talk")"
}
end_trace() {
	local code=0
	kill -TERM "$tracing" # a background job of a script ignores SIGINT
	wait "$tracing" || code=$?
	[ "$code" = 0 ] || fail "after SIGTERM it exited with $code: $(cat "$work/talk")"
}
resumed() {
	[ "$("$kfdsched" events --last 1 --json | jq -r .kind)" = resume ]
}
has_shown() {
	jq -es "any(.[]; $1)" "$work/timeline" >/dev/null 2>&1
}

start_daemon
# The workload has little to do, because its work does not matter.
LD_PRELOAD=$BUILD/libkfdshim.so KFDSHIM_PRIORITY=offline "$BUILD/kfdreplay" \
	--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 10 --seconds 600 >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
until_true 100 state_is "$offline" running || fail "no offline process: $(status | jq -c .processes)"
until_true 100 says ".processes[]|select(.pid == $offline)|.level == \"trap\" and (.queues|length) > 1" ||
	fail "$(status | jq -c .processes)"
start_online
trace --perfetto "$work/picture"
# The requests come at random times.
last_begun() {
	"$kfdsched" status "$offline" --dump --json |
		jq '[.client_shm.events[]|select(.queue_id == 1 and .kind == "active").number]|max // 0'
}
begins_after() {
	[ "$(last_begun)" -gt "$1" ]
}
before=$(last_begun)
until_true 300 begins_after "$before" || fail "the workload does nothing"
suspend_offline
send off
until_true 50 resumed || fail "not resumed"
end_trace
[ ! -s "$work/timeline" ] || fail "something on stdout: $(cat "$work/timeline")"
"$SOURCE/tests/system/cli/perfetto.py" "$work/picture" >"$work/facts" || fail "the picture is not valid"
# (On a slow machine the process may be suspended more than once.)
jq -e '.flows > 0 and .bars["off the GPU"] == 3 * .flows and .bars["queue 1 on GPU 0"] > 0 and
	(.processes | index("kfdreplay") and index("lane_client") and index("GPUs"))' \
	"$work/facts" >/dev/null || fail "not in the picture: $(cat "$work/facts")"
jq -e '.otherData.simulated and (.otherData.notes | any(test("the trace has no activity of the driver: the driver is simulated")))
	and (.traceEvents | any(.ph == "X" and .name == "suspend" and
		(.args.text | test("for the work of process '"$online"',"))))' "$work/picture" >/dev/null ||
	fail "what is not known, or the reason, is not in the file"
# The bar is the time between the two, within the times of the suspend and the resume calls.
jq -e '[.traceEvents[] | select(.ph == "X" and .name == "off the GPU")][0] as $off |
	[.traceEvents[] | select(.ph == "X" and .name == "suspend")][0] as $suspend |
	[.traceEvents[] | select(.ph == "X" and .name == "resume")][0] as $resume |
	$off.ts == $suspend.ts and $resume.ts > $suspend.ts + $suspend.dur and
	($off.ts + $off.dur - $resume.ts - $resume.dur | fabs) < 1' "$work/picture" >/dev/null ||
	fail "the bar is not from the suspend to the resume"
grep -q "events of .* s are in $work/picture" "$work/talk" || fail "$(cat "$work/talk")"

# With --pid, the trace has one process alone, and its work in order.
trace --json --pid "$online"
suspend_offline
until_true 50 has_shown ".cause == null and .source == \"daemon\" and .pid == $offline and .name == \"suspend\"" ||
	fail "what is done because of it is not shown: $(cat "$work/timeline")"
# The trace has as many events as the client shared memory keeps, and the number of the lost ones.
its_events() {
	[ "$(grep -c "\"source\":\"shim\",\"pid\":$online," "$work/timeline")" = "$1" ]
}
send events 250
until_true 50 its_events 250 || fail "not all of 250 events: $(grep -c '"shim"' "$work/timeline")"
# The trace is stopped, because it would read more of them in between.
is_stopped() {
	grep -q ') T ' "/proc/$tracing/stat"
}
kill -STOP "$tracing"
until_true 50 is_stopped || fail "the trace does not stop"
status >/dev/null # the daemon has replied to its last request by then
send events 1000
kill -CONT "$tracing"
until_true 50 its_events 506 || fail "not the last 256 of 1000"
end_trace
grep -q "744 events of process $online are missing in the trace" "$work/talk" || fail "$(cat "$work/talk")"
kill -KILL "$offline"
has_shown ".pid == $offline and .source == \"shim\"" && fail "the queues of the other process are shown"
schema trace "$work/timeline" --lines

# A traced command: its exit code, its output beside the timeline, and its queues.
code=0
"$kfdsched" trace --json -- sh -c 'echo "from within"; '"$BUILD"'/kfdreplay --trace '"$SOURCE"'/traces/offline_gemm4000_f32.csv \
	--rate 10 --requests 20 >/dev/null 2>&1; exit 3' >"$work/timeline" 2>"$work/talk" || code=$?
[ "$code" = 3 ] || fail "exit code $code, not the command's: $(cat "$work/talk")"
grep -qx "from within" "$work/talk" || fail "the command's output is not on stderr: $(cat "$work/talk")"
grep -q "sh ended with exit code 3" "$work/talk" || fail "$(cat "$work/talk")"
schema trace "$work/timeline" --lines
replay=$(jq -r 'select(.name == "came" and .comm == "kfdreplay").pid' "$work/timeline")
# (On a slow machine the shim can start later than the queue.)
has_shown ".pid == ${replay:-0} and .source == \"shim\" and .queue_id != null" ||
	fail "no queue of the command: $(cat "$work/timeline")"
[ "$(jq -s '[.[].monotonic_ns] | . == sort' "$work/timeline")" = true ] || fail "not in order"

# If the reader has gone, the trace ends, and so does the command that it has started.
"$kfdsched" trace --json --seconds 60 2>"$work/talk" | head -n 1 >"$work/timeline"
[ "${PIPESTATUS[0]}" = 1 ] || fail "the reader has gone, but the trace succeeds: $(cat "$work/talk")"
# When the time is over, the command ends, which has begun by then.
code=0
"$kfdsched" trace --seconds 2 -- sleep 60 >"$work/timeline" 2>"$work/talk" || code=$?
[ "$code" = 143 ] || fail "exit code $code of a command that was ended"
