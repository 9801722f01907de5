#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves the acceptance criteria of `kfdsched preempt`: fifty of fifty rounds succeed on a training
# without a priority. If the command, its acting child or both are killed in the middle of a hold,
# with a daemon and without one, the training goes on: it is not suspended, has no debug session,
# and each of its workgroups runs once.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"

# The output of the command, without its times, is compared as a whole.
if [ -z "${IN_A_WORLD:-}" ]; then
	# shellcheck disable=SC2016 # for the inner shell
	TRACE=$offline_trace SVG=$work/plot.svg timeout 250 "$BUILD/kfdsim" -- sh -c '
		LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$TRACE" --closed --seconds 600 >/dev/null 2>&1 &
		p=$!
		until [ -e /sys/class/kfd/kfd/proc/$p/queues/0 ]; do sleep 0.1; done
		"$kfdsched" preempt $p -n 50 --hold 5ms --pause 5ms --svg "$SVG"
		kill $p' >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
	grep -q '50/50 successes' "$work/out" || fail "$(cat "$work/out" "$work/err")"
	# The comparison ends before the histogram, whose lines depend on the times.
	sed -E 's/process [0-9]+/process PID/; s/[0-9.]+ (us|ms|s)\b/T/g; s/ +/ /g; /^ suspend resume/q' "$work/out" >"$work/shown"
	diff -u "$SOURCE/tests/system/cli/preempt.golden" "$work/shown" >&2 || fail "the output is not the expected one"
	sed '1,/ suspend  *resume/d' "$work/out" >"$work/histogram"
	[ "$(awk '{n += $6} END {print n}' "$work/histogram")" = 49 ] || fail "rounds in the histogram: $(cat "$work/out")"
	xmllint --noout "$work/plot.svg" || fail "the plot is not well-formed"
	grep -q '50 of 50 rounds' "$work/plot.svg" || fail "the plot says something else"
fi
in_a_world
light_trace=$SOURCE/traces/offline_gemm4000_f32.csv # little for the host to simulate

# ends VICTIM: the command, the child or both are killed while the training is suspended.
ends() {
	local preempt acting victim
	setsid "$kfdsched" preempt "$offline" -n 5 --hold 30s --pause 1ms >"$work/out" 2>"$work/err" &
	preempt=$!
	children+=("$preempt")
	until_true 50 grep -q . "/proc/$preempt/task/$preempt/children" || fail "the command has no child"
	acting=$(tr -d ' ' <"/proc/$preempt/task/$preempt/children")
	case $1 in
	command) victim=$preempt ;;
	child) victim=$acting ;;
	both) victim=-$preempt ;;
	esac
	"$BUILD/watch_queue" "$offline" "$rptr" 500 10000 "$victim" 9 >/dev/null ||
		fail "the training does not go on after SIGKILL of $1 $when"
	until_true 50 has_ended "$preempt" || fail "the command has not ended"
	until_true 50 has_ended "$acting" || fail "its child has not ended"
	[ "$1" != child ] || grep -q 'not run' "$work/out" || fail "the finished rounds are not reported: $(cat "$work/out")"
	# The process is free at once for the next command, which finds it running.
	until_true 50 succeeds || fail "after SIGKILL of $1 $when: $(cat "$work/err")"
}
succeeds() {
	"$kfdsched" preempt "$offline" -n 2 --hold 1ms --pause 1ms --slow 10s >"$work/out" 2>"$work/err" &&
		grep -q '2/2 successes' "$work/out"
}

start_daemon
LD_PRELOAD=$BUILD/libkfdshim.so "$BUILD/kfdreplay" --trace "$light_trace" --rate 10 --count \
	--json "$work/offline.json" --seconds 600 >/dev/null 2>>"$work/log" &
offline=$!
children+=("$offline")
# The first queue belongs to the runtime; the training uses the second.
until_true 100 says "any(.processes[]; .pid == $offline and (.queues|length) > 1)" || fail "no process"
rptr=$(rptr_of "$offline")
when="with a daemon"
for victim in command child both; do
	ends "$victim"
done
until_true 50 state_is "$offline" running || fail "the process stays suspended"
kill -TERM "$daemon"
until_true 50 has_ended "$daemon" || fail "the daemon has not ended"
when="without a daemon"
for victim in command child both; do
	ends "$victim"
done
[ "$(proc_status "$offline" TracerPid)" -eq 0 ] || fail "the process is still traced"
kill -INT "$offline"
wait "$offline" || true
counts_are_right
