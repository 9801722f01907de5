#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: kfdsched trace without a daemon shows the queues of a command by the shim's log, and HIP by
# HIP's log, which it separates from the output of the command; it reads a log that exists already;
# and it gives the reason if something cannot be traced.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
in_a_world
: >"$work/log"

# fails CODE TEXT ARGUMENT...: an error with that text on stderr, nothing on stdout.
fails() {
	local code=$1 text=$2
	shift 2
	expect "$code" "$kfdsched" trace "$@" </dev/null
	said "$text"
	[ ! -s "$work/out" ] || fail "trace $*: something on stdout"
}
fails 77 "there is nothing to trace here"
said "no daemon listens at $KFDSHIM_SOCKET"
fails 1 "cannot be read: No such file" --hip-log "$work/none"
fails 1 "cannot be written: No such file" --perfetto "$work/none/p"
sleep 0 &
gone=$!
wait "$gone"
fails 1 "$gone" --pid "$gone"
fails 127 "cannot start /nowhere" --perfetto "$work/picture" -- /nowhere
jq -e .traceEvents "$work/picture" >"$work/events" || fail "the file of a command that could not start is cut off"

replay=("$BUILD/kfdreplay" --trace "$SOURCE/traces/offline_gemm4000_f32.csv" --closed --requests 1)
"$kfdsched" trace -- "${replay[@]}" >"$work/table" 2>"$work/talk" || fail "$(cat "$work/talk")"
grep -q "the trace has no decisions of the daemon: no daemon" "$work/talk" || fail "the trace does not say so: $(cat "$work/talk")"
grep -q "^kfdshim.*: event " "$work/talk" && fail "the shim's events are shown, too: $(cat "$work/talk")"
sed -E 's/^ +[0-9.]+ /TIME/; s/ [0-9]+ / PID /; s/pointer [0-9]+/pointer N/; s/type [0-9]+/type T/' \
	"$work/table" | sort -u >"$work/lines"
for word in "queue created, of KFD type T" "queue has work, write pointer N" "queue destroyed"; do
	grep -q "^TIME *shim *PID *queue [0-9] *$word" "$work/lines" || fail "no '$word': $(cat "$work/lines")"
done

# HIP's own log and the other output of the command.
"$kfdsched" trace --perfetto "$work/picture" --hip -- sh -c \
	"echo question; printf 'prompt> ' >&2; exec ${replay[*]} --api hip" >"$work/out" 2>"$work/talk" ||
	fail "$(cat "$work/talk")"
grep -q "^question$" "$work/out" || fail "the stdout of the command is not passed on"
grep -q "prompt> " "$work/talk" || fail "the output of the command is not shown"
grep -q "^:[0-9]:" "$work/talk" && fail "HIP's log is shown"
"$SOURCE/tests/system/cli/perfetto.py" "$work/picture" >"$work/facts" || fail "the picture is not valid"
jq -e '.traceEvents | any(.ph == "X" and .name == "hipModuleLaunchKernel" and .dur >= 0) and any(.name == "dispatch")' \
	"$work/picture" >/dev/null || fail "no call or no dispatch: $(cat "$work/facts")"

# A log of the past or of the future has no events of now; its lines are counted. The recorded log's
# times are uptimes of the machine that made it, 26100 s and 1.2 s more: log_at replaces the 2610, by
# nothing for a log that was over in the first seconds of this machine.
log_at() {
	sed -E "s/: 2610([01][0-9]{6}) us:/: $1\\1 us:/" "$SOURCE/tests/system/cli/logs/hip-5.2.3.log" >"$work/shifted"
	"$kfdsched" trace --seconds 0.2 --hip-log "$work/shifted" "${@:2}" >"$work/out" 2>"$work/talk" ||
		fail "$(cat "$work/talk")"
}
log_at "" --json
grep -q "lines of HIP's log are from before the trace" "$work/talk" || fail "$(cat "$work/talk")"
lines=$(jq -s 'if length == 1 then .[0].hip_lines_left_out else {} end | if .future == 0 then .before else 0 end' "$work/out")
[ "$lines" -gt 50 ] || fail "an event of the past is shown: $(head "$work/out")"
schema trace "$work/out" --lines
log_at 90000000 --json
grep -q "^kfdsched trace: $lines lines of HIP's log have times later than now" "$work/talk" || fail "$(cat "$work/talk")"
[ "$(jq -cs . "$work/out")" = "[{\"hip_lines_left_out\":{\"before\":0,\"future\":$lines}}]" ] ||
	fail "an event of the future is shown: $(head "$work/out")"
log_at 90000000
[ ! -s "$work/out" ] || fail "an event of the future is shown: $(head "$work/out")"
log_at 90000000 --perfetto "$work/picture"
jq -e ".otherData.hip_lines_left_out == {before: 0, future: $lines}" "$work/picture" >/dev/null ||
	fail "not in the picture: $(jq -c .otherData "$work/picture")"
# A log that is being written. (Its writer opens it a moment after its own start.)
: >"$work/log.hip"
AMD_LOG_LEVEL=3 "${replay[@]::3}" --rate 10 --seconds 60 --api hip >/dev/null 2>"$work/log.hip" &
children+=($!)
"$kfdsched" trace --json --pid $! --hip-log "$work/log.hip" >"$work/out" 2>"$work/talk" &
tracing=$!
children+=("$tracing")
has_hip() {
	grep -q '"source":"hip"' "$work/out"
}
until_true 100 has_hip || fail "nothing of the log: $(cat "$work/talk")"
kill -TERM "$tracing"
wait "$tracing" || fail "$(cat "$work/talk")"

# A picture with every kind of event.
"$BUILD/unit_cli_trace_timeline" "$work/picture"
"$SOURCE/tests/system/cli/perfetto.py" "$work/picture" >"$work/facts" || fail "the picture is not valid"
jq -e '.flows == 400 and .bars["off the GPU"] > 1000 and .bars["kworker-77"] == 400' "$work/facts" >/dev/null ||
	fail "not all of it: $(cat "$work/facts")"
