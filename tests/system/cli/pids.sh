#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A PID that is none: of a process that is gone, a zombie, a thread, a process that uses no
# GPU, or one of another user; and one that is used again while it is looked at. Every verb
# that takes one says so in a sentence, prints nothing else, and touches nobody.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

sleep 0 &
gone=$!
wait "$gone"
# A zombie: its parent does not wait for it. (A shell would: it ends when its parent is none any more.)
bash -c '{ until grep -qs "(sleep)" "/proc/$$/stat"; do sleep 0.05; done; exec sleep 0; } &
	echo $! >"$1"; exec sleep 300' - "$work/zombie" &
children+=("$!")
until_true 50 test -s "$work/zombie" || fail "no zombie"
zombie=$(cat "$work/zombie")
is_zombie() {
	grep -qs ') Z ' "/proc/$zombie/stat"
}
until_true 300 is_zombie || fail "no zombie"
sleep 300 &
idle=$!
children+=("$idle")
load=(--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 5 --seconds 300)
"$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
target=$!
children+=("$target")
has_queues() {
	[ -n "$(ls "/sys/class/kfd/kfd/proc/$1/queues" 2>/dev/null)" ]
}
has_thread() {
	[ "$(find "/proc/$target/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 1 ]
}
until_true 300 has_queues "$target" || fail "no queues"
until_true 100 has_thread || fail "no thread"
thread=$(find "/proc/$target/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vx "$target" | head -n 1)

none="@(1|77)" # the exit codes
for verb in "queues" "monitor" "top --once" "diagnose" "verify" "preempt" "suspend" "pidmap" "watch --timeout 1 --pid" "compare $target"; do
	read -ra words <<<"$verb"
	refused "$none" "$gone" "$kfdsched" "${words[@]}" "$gone"
	case $verb in
	diagnose) ;; # it tells whose thread it is
	*) refused "$none" "$thread" "$kfdsched" "${words[@]}" "$thread" ;;
	esac
	case $verb in
	diagnose | pidmap) ;; # they tell what a zombie is
	compare*) refused "$none" "$zombie" "$kfdsched" "${words[@]}" "$zombie" ;;
	*) refused "$none" "process $zombie (sleep) has ended (a zombie: its parent has not collected its exit status)" "$kfdsched" "${words[@]}" "$zombie" ;;
	esac
	case $verb in
	diagnose | pidmap | watch*) ;; # ... and what a process without a GPU is; or wait for one
	*) refused "$none" "$idle" "$kfdsched" "${words[@]}" "$idle" ;;
	esac
done
# Whose first thread alone has ended lives on, and is not told to have ended.
python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)' &
headless=$!
children+=("$headless")
until_true 50 grep -qs ') Z ' "/proc/$headless/stat" || fail "its first thread lives"
for verb in queues monitor verify; do
	refused "$none" "no source reports" "$kfdsched" "$verb" "$headless"
done
# Somebody else's process: what anybody may see is told, what takes a right is refused.
as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
for verb in preempt suspend; do
	refused "$none" "" "${as_nobody[@]}" "$kfdsched" "$verb" "$target"
	one_line "not allowed to trace|refuses this user"
done
"${as_nobody[@]}" "$kfdsched" monitor "$target" --seconds 0.2 --interval 0.1 | grep -q "queues" || fail "nobody may not count queues"
kill -0 "$target" "$idle" || fail "somebody was hurt"

# A number that is used again is not the same process: monitor ends with what it has.
# Writing it down takes a moment in which nothing else may be started here.
"$kfdsched" monitor "$target" --seconds 60 --interval 0.2 >"$work/out" 2>&1 &
monitor=$!
children+=("$monitor")
has_samples() {
	grep -q "sample 2" "$work/out"
}
until_true 100 has_samples || fail "no samples: $(cat "$work/out")"
kill -STOP "$monitor" # it looks again when the number is another's
kill -KILL "$target"
wait "$target" 2>/dev/null || true
# (Whatever else is started in that moment, as a thread, has the number: it is tried again.)
takes_number() {
	echo $((target - 1)) >/proc/sys/kernel/ns_last_pid
	"$BUILD/kfdreplay" "${load[@]}" >/dev/null 2>&1 &
	again=$!
	children+=("$again")
	[ "$again" != "$target" ] || return 0
	echo "tried again: the number was $again"
	kill -KILL "$again"
	return 1
}
until_true 50 takes_number || fail "the number is $again and not $target: this means nothing"
until_true 300 has_queues "$again" || fail "no queues of the next one"
kill -CONT "$monitor"
code=0
wait "$monitor" || code=$?
grep -q "then the process ended" "$work/out" || fail "the next process was taken for it ($code): $(cat "$work/out")"
echo "ok"
